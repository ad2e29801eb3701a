#include "python/graph/report.h"

#include <pybind11/pybind11.h>

#include <algorithm>

#include "base/cost.h"
#include "graph/planning/memory_use.h"
#include "graph/planning/segment_waits.h"
#include "python/errors.h"
#include "python/issue_site.h"

namespace py = pybind11;

namespace ofl::python {

namespace {

using graph::Executable;
using graph::RunMode;
using graph::Schedule;

py::list names_of(const Schedule& schedule, const graph::Unit& unit) {
  py::list names;
  for (const int64_t step : unit.steps) names.append(schedule.lowered->steps[step].name);
  return names;
}

py::list groups_of(const Schedule& schedule) {
  py::list groups;
  for (const graph::Unit& unit : schedule.units) {
    if (!unit.is_group()) continue;
    py::dict group;
    group["steps"] = names_of(schedule, unit);
    group["saved_bytes"] = graph::saved_bytes(*schedule.lowered, unit);
    groups.append(group);
  }
  return groups;
}

py::list in_place_of(const Schedule& schedule) {
  py::list notes;
  for (const graph::InPlaceNote& note : schedule.layout.in_place) {
    const graph::ReasonRow& reason = graph::kReasons[static_cast<int>(note.reason)];
    py::dict row;
    row["operand"] = note.operand;
    row["result"] = note.result;
    row["step"] = schedule.lowered->steps[schedule.units[note.unit].steps.back()].name;
    row["is_in_place"] = note.reason == graph::Reason::allowed;
    row["reason"] = reason.text;
    notes.append(row);
  }
  return notes;
}

/// Where each base is, and the units that use it: (memory, offset, bytes, is_input, units,
/// is_result).
py::list bases_of(const Schedule& schedule) {
  std::vector<py::list> units(schedule.lowered->bases.size());
  for (size_t u = 0; u < schedule.units.size(); ++u) {
    for (const int64_t i : schedule.units[u].steps) {
      const graph::Step& step = schedule.lowered->steps[i];
      for (size_t k = 0; k < step.operands.size(); ++k) {
        const int64_t base = step.operands[k].base;
        if (base >= 0) units[base].append(py::make_tuple(u, static_cast<bool>(step.writes[k])));
      }
    }
  }
  py::list rows;
  for (size_t b = 0; b < units.size(); ++b) {
    const graph::Home& home = schedule.layout.homes[b];
    const bool is_input = schedule.lowered->is_input(static_cast<int64_t>(b));
    const graph::Base& base = schedule.lowered->bases[b];
    rows.append(
        py::make_tuple(home.memory, home.offset, base.bytes, is_input, units[b], base.is_result));
  }
  return rows;
}

/// The temporaries of a run in the calling thread: (offset in its arena, bytes, first and last step
/// that use it).
py::list inline_bases_of(const Executable& run) {
  py::list rows;
  const std::vector<int64_t>* const offsets = run.inline_offsets();
  for (size_t b = 0; offsets && b < offsets->size(); ++b) {
    const graph::Base& base = run.lowered().bases[b];
    if ((*offsets)[b] < 0) continue;
    rows.append(py::make_tuple((*offsets)[b], base.bytes, base.first, base.last));
  }
  return rows;
}

/// The unit that each step is in.
std::vector<size_t> units_of_steps(const Schedule& schedule) {
  std::vector<size_t> units(schedule.lowered->steps.size());
  for (size_t u = 0; u < schedule.units.size(); ++u) {
    for (const int64_t step : schedule.units[u].steps) units[step] = u;
  }
  return units;
}

/// The bases that a step writes to.
py::list written_by(const graph::Step& step) {
  py::list bases;
  for (size_t k = 0; k < step.operands.size(); ++k) {
    if (step.writes[k]) bases.append(step.operands[k].base);
  }
  return bases;
}

void add_use(const Schedule& schedule, py::dict* memory) {
  const graph::MemoryUse use = graph::memory_use(schedule);
  const std::vector<size_t> units = units_of_steps(schedule);
  py::dict peaks;
  for (const auto& [state, bytes] : use.peaks) {
    peaks[py::str(state->device.id().str())] = bytes;
  }
  py::list operations;
  for (const graph::StepMemory& each : use.steps) {
    py::dict row;
    row["step"] = each.step->name;
    row["site"] = py::reinterpret_steal<py::object>(checked(site_tuple(each.step->site)));
    row["bytes"] = each.bytes;
    row["place"] = graph::kPlaceNames[static_cast<int>(each.place)];
    row["live_bytes"] = each.live;
    row["operation"] = each.step->operation;
    row["unit"] = units[each.step - schedule.lowered->steps.data()];
    row["writes"] = written_by(*each.step);
    operations.append(row);
  }
  (*memory)["peak_bytes"] = peaks;
  (*memory)["operations"] = operations;
}

py::dict memory_of(const Schedule& schedule) {
  py::list arenas;
  for (const graph::ArenaPlan& arena : schedule.layout.arenas) {
    py::dict row;
    row["device"] = arena.lane.state->device.id().str();
    const vm::StreamType type = vm::StreamType::compute;
    row["lane"] = graph::UnitStream{arena.lane.state->device.id(), type, arena.lane.number}.name();
    row["memory"] = arena.memory;
    row["bytes"] = arena.bytes;
    row["lower_bound"] = arena.bound;
    row["plan"] = arena.name;
    py::dict tried;
    for (const graph::Candidate& each : arena.tried) tried[py::str(each.name)] = each.bytes;
    row["tried"] = tried;
    arenas.append(row);
  }
  py::list memories;  // (bytes, is_result, is_arena)
  int64_t results = 0, alone = 0;
  for (size_t m = 0; m < schedule.layout.memories.size(); ++m) {
    const graph::RunMemory& memory = schedule.layout.memories[m];
    memories.append(py::make_tuple(memory.bytes, memory.is_result, memory.is_arena));
    if (static_cast<int64_t>(m) < schedule.lowered->input_count) continue;
    const auto bytes = static_cast<int64_t>(memory.bytes);
    if (memory.is_result) {
      results += bytes;
    } else if (!memory.is_arena) {
      alone += bytes;
    }
  }
  int64_t copies = 0;
  for (const graph::Step& step : schedule.lowered->steps) {
    copies += std::string(step.name) == "assign";
  }
  py::dict memory;
  memory["arenas"] = arenas;
  memory["results_bytes"] = results;
  memory["alone_bytes"] = alone;
  memory["in_place"] = in_place_of(schedule);
  memory["assigns_copied"] = copies;
  memory["bases"] = bases_of(schedule);
  memory["memories"] = memories;
  add_use(schedule, &memory);
  return memory;
}

py::list pairs(const graph::Edges& edges) {
  py::list list;
  for (const graph::Edge& edge : edges) list.append(py::make_tuple(edge.before, edge.after));
  return list;
}

py::list additions_of(const graph::Lowered& lowered) {
  py::list additions;
  for (const graph::AdditionNote& note : lowered.additions) {
    py::dict row;
    row["site"] = py::reinterpret_steal<py::object>(checked(site_tuple(note.site)));
    row["is_added"] = note.is_added;
    row["reason"] = note.reason;
    additions.append(row);
  }
  return additions;
}

void add_segments(const Schedule& schedule, py::dict* report) {
  const graph::SegmentWaits waits = graph::find_waits(schedule);
  py::list lanes, segments;
  for (const graph::UnitStream& stream : waits.streams) lanes.append(stream.name());
  for (size_t s = 0; s < schedule.segments.size(); ++s) {
    const graph::Segment& segment = schedule.segments[s];
    py::list steps;
    for (const graph::Piece& piece : segment.pieces) {
      for (const py::handle& name : names_of(schedule, *piece.unit)) steps.append(name);
    }
    py::list units, memories, strands;
    for (const graph::Piece& piece : segment.pieces) {
      units.append(piece.unit - schedule.units.data());
    }
    for (const graph::Segment::Use& use : segment.memories) {
      memories.append(py::make_tuple(use.memory, use.is_written));
    }
    for (const std::vector<int32_t>& strand : segment.strands) {
      py::list members;
      for (const int32_t piece : strand) members.append(units[static_cast<size_t>(piece)]);
      strands.append(members);
    }
    py::dict row;
    row["lane"] = lanes[static_cast<size_t>(waits.stream[s])];
    row["steps"] = steps;
    row["units"] = units;
    row["strands"] = strands;
    row["memories"] = memories;
    row["us"] = segment.cost * kAdditionNs / 1e3;
    segments.append(row);
  }
  (*report)["lanes"] = lanes;
  (*report)["segments"] = segments;
  (*report)["edges"] = pairs(waits.edges);
  (*report)["waits"] = pairs(waits.waits);
}

py::dict graphs_of(const graph::CaptureReport& found) {
  py::list refused;
  for (const graph::CaptureReport::Refusal& each : found.refusals) {
    py::dict row;
    row["step"] = each.step->name;
    row["site"] = py::reinterpret_steal<py::object>(checked(site_tuple(each.step->site)));
    row["reason"] = each.reason;
    refused.append(row);
  }
  py::dict graphs;
  graphs["graphs"] = found.graphs;
  graphs["kernels"] = found.kernels;
  graphs["products"] = found.products;
  graphs["launches"] = found.launches;
  graphs["changes"] = found.changes;
  graphs["updates"] = found.updates;
  graphs["refused"] = refused;
  return graphs;
}

}  // namespace

PyObject* report_of(const Executable& run) {
  py::dict report, runs;
  int64_t issued = 0;
  for (int mode = 0; mode < graph::kRunModes; ++mode) {
    const auto each = static_cast<RunMode>(mode);
    if (each == RunMode::automatic) continue;
    runs[graph::kRunModeNames[mode]] = run.runs(each);
    if (each != RunMode::here) issued += run.runs(each);
  }
  const Schedule& schedule = *run.schedule();
  report["steps"] = run.lowered().steps.size();
  report["mode"] = graph::kRunModeNames[static_cast<int>(run.options().mode)];
  report["release"] = graph::kReleaseNames[static_cast<int>(run.options().release)];
  report["arena_bytes"] = run.inline_arena_bytes();
  report["inline_runs"] = run.runs(RunMode::here);
  report["issued_runs"] = issued;
  report["runs"] = runs;
  report["groups"] = groups_of(schedule);
  report["memory"] = memory_of(schedule);
  report["memory"]["inline_bases"] = inline_bases_of(run);
  report["addto"] = run.options().adds;
  report["additions"] = additions_of(run.lowered());
  report["graphs"] = graphs_of(run.capture_report());
  add_segments(schedule, &report);
  return report.release().ptr();
}

}  // namespace ofl::python
