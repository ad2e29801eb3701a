// Peering: ranks find out whether their devices reach each other without the host.
#pragma once

#include <string>
#include <vector>

#include "distributed/world/collective.h"

namespace ofl::distributed {

/// How these ranks, this one among them, exchange tensors on devices of this type without the host;
/// null: they go through its memory. All of them get the same answer. The first time they agree on
/// it in a collective, for which this rank waits. It stays as long as the member's group.
const DeviceGroup* connect_devices(const Issuer& issuer, Member& member,
                                   const std::vector<int32_t>& ranks, Device home);

/// Told once, with the GIL, that a group of ranks with devices of their own goes through the host,
/// and why.
void set_detour_hook(void (*tell)(const std::string& text));

}  // namespace ofl::distributed
