#include "graph/planning/schedule.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>

#include "base/cost.h"
#include "graph/memory/values.h"
#include "graph/order/lanes.h"

namespace ofl::graph {

namespace {

constexpr int kMostUnits = 256;
/// 100 us: what stays in the calling thread at most (SmallWork), and what others wait for at most
/// that need a part of it.
constexpr double kMostCost = 100e3 / kAdditionNs;
/// 10 us: to hand over the rest by itself takes as long, so that a look gains nothing.
constexpr double kWorthLooking = 10e3 / kAdditionNs;

class Cutting {
 public:
  Cutting(const Lowered& lowered, const std::vector<Unit>& units, const UnitOrder& order,
          const Layout& layout)
      : lowered_(lowered),
        layout_(layout),
        units_(units),
        is_awaited_(units.size()),
        writer_(lowered_.bases.size()),
        readers_(lowered_.bases.size()),
        last_write_(lowered_.bases.size(), -1) {
    for (const Edge& wait : waits(order.stream, order.edges)) is_awaited_[wait.before] = true;
    for (size_t u = 0; u < units_.size(); ++u) {
      graph::for_each_base(lowered_, units_[u], [&](int64_t base, bool is_written) {
        if (is_written) last_write_[base] = static_cast<int64_t>(u);
      });
    }
  }

  std::vector<Segment> segments() {
    for (size_t u = 0; u < units_.size(); ++u) place(static_cast<int64_t>(u));
    while (!open_.empty()) close(0);
    mark_last_uses();
    return std::move(segments_);
  }

 private:
  /// Numbers of segments, which are given when they are opened.
  struct Open {
    ComputeLane lane;
    int64_t number;
    std::vector<int64_t> units;
    double cost = 0;
    bool is_awaited = false;  // another lane waits for one of the units
    double cost_since = 0;    // of the units behind the first such one
  };
  struct Access {
    ComputeLane lane;
    int64_t segment = -1;
  };

  void place(int64_t u) {
    const Unit& unit = units_[u];
    const ComputeLane lane = lane_of(lowered_, unit);
    bool waits = false;
    graph::for_each_base(lowered_, unit, [&](int64_t base, bool is_written) {
      if (!layout_.is_crossing[base]) return;
      waits = end(writer_[base], lane) || waits;
      if (!is_written) return;
      for (const Access& reader : readers_[base]) waits = end(reader, lane) || waits;
    });
    if (!lane) waits = true;
    const int at = find_open(lane);
    if (at >= 0 && (waits || is_full(open_[at], unit))) close(at);
    if (find_open(lane) < 0) open_.push_back({lane, next_++, {}});
    Open& open = open_[find_open(lane)];
    open.units.push_back(u);
    open.cost += unit.cost;
    if (open.is_awaited) open.cost_since += unit.cost;
    open.is_awaited = open.is_awaited || is_awaited_[u];
    note(unit, open);
    if (!lane || (open.cost >= kWorthLooking && may_be_looked_at(u))) close(find_open(lane));
  }

  static bool is_full(const Open& open, const Unit& unit) {
    const bool holds_up = open.is_awaited && open.cost_since + unit.cost > kWorthLooking;
    return holds_up || open.cost + unit.cost > kMostCost || open.units.size() >= kMostUnits;
  }

  /// Another lane needs this segment: it ends. False: the access is of the same lane.
  bool end(const Access& access, const ComputeLane& lane) {
    if (access.segment < 0 || (lane && access.lane == lane)) return false;
    for (size_t i = 0; i < open_.size(); ++i) {
      if (open_[i].number == access.segment) {
        close(static_cast<int>(i));
        break;
      }
    }
    return waited_.emplace(lane.state, lane.number, access.segment).second;
  }

  void note(const Unit& unit, const Open& open) {
    graph::for_each_base(lowered_, unit, [&](int64_t base, bool is_written) {
      if (!layout_.is_crossing[base]) return;
      if (is_written) {
        writer_[base] = {open.lane, open.number};
        readers_[base].clear();
      } else {
        readers_[base].push_back({open.lane, open.number});
      }
    });
  }

  bool may_be_looked_at(int64_t u) const {
    bool found = false;
    graph::for_each_base(lowered_, units_[u], [&](int64_t base, bool is_written) {
      const bool is_visible = lowered_.bases[base].is_result || lowered_.is_input(base);
      found = found || (is_written && is_visible && last_write_[base] == u);
    });
    return found;
  }

  int find_open(const ComputeLane& lane) const {
    for (size_t i = 0; i < open_.size(); ++i) {
      if (open_[i].lane == lane) return static_cast<int>(i);
    }
    return -1;
  }

  void close(int at) {
    const Open open = std::move(open_[at]);
    open_.erase(open_.begin() + at);
    segments_.push_back(made(open));
  }

  Segment made(const Open& open) {
    Segment segment;
    segment.lane = open.lane;
    segment.cost = open.cost;
    numbers_.clear();
    memories_.clear();
    for (const int64_t u : open.units) segment.pieces.push_back(piece(units_[u], &segment));
    find_strands(&segment);
    for (const Segment::Use& use : segment.memories) {
      if (use.is_written && is_new(use.memory)) {
        segment.new_bytes += layout_.memories[use.memory].bytes;
        is_known_[use.memory] = true;
      }
    }
    return segment;
  }

  /// Of each base of a segment the first one of its place: bases that touch bytes of each other are
  /// at one place.
  std::vector<size_t> places_of(const Segment& segment) const {
    std::vector<size_t> order(segment.bases.size()), place(segment.bases.size());
    for (size_t b = 0; b < order.size(); ++b) order[b] = place[b] = b;
    const auto where = [&](size_t b) {
      return std::make_tuple(segment.bases[b].memory, segment.bases[b].offset, b);
    };
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return where(a) < where(b); });
    size_t first = 0;
    int64_t end = 0;
    for (size_t k = 0; k < order.size(); ++k) {
      const Segment::Local& local = segment.bases[order[k]];
      const bool is_there = k > 0 && segment.bases[order[k - 1]].memory == local.memory;
      const bool is_new = local.memory < 0 || !is_there || local.offset >= end;
      if (is_new) first = order[k];
      const int64_t ends = local.offset + static_cast<int64_t>(lowered_.bases[local.base].bytes);
      end = is_new ? ends : std::max(end, ends);
      place[order[k]] = first;
    }
    return place;
  }

  /// Pieces are of one strand if they use a place that one of them writes.
  void find_strands(Segment* segment) const {
    const auto pieces = static_cast<int64_t>(segment->pieces.size());
    const std::vector<size_t> place = places_of(*segment);
    std::vector<bool> is_written(place.size());
    for_each_base(*segment, [&](int64_t, int32_t base, bool writes) {
      is_written[place[base]] = is_written[place[base]] || writes;
    });
    Classes strands(pieces);
    std::vector<int64_t> user(place.size(), -1);
    for_each_base(*segment, [&](int64_t piece, int32_t base, bool) {
      if (!is_written[place[base]]) return;
      int64_t& latest = user[place[base]];
      if (latest >= 0) strands.join(latest, piece);
      latest = piece;
    });
    const Integers numbers = strands.numbers();
    for (int64_t piece = 0; piece < pieces; ++piece) {
      const auto strand = static_cast<size_t>(numbers[piece]);
      if (strand == segment->strands.size()) segment->strands.emplace_back();
      segment->strands[strand].push_back(static_cast<int32_t>(piece));
    }
  }

  template <typename Function>
  static void for_each_base(const Segment& segment, const Function& function) {
    for (size_t p = 0; p < segment.pieces.size(); ++p) {
      for (const Call& call : segment.pieces[p].calls) {
        for (size_t k = 0; k < call.bases.size(); ++k) {
          const bool writes = call.step->writes[k];
          if (call.bases[k] >= 0) function(static_cast<int64_t>(p), call.bases[k], writes);
        }
      }
    }
  }

  bool is_new(int64_t memory) const {
    return memory >= lowered_.input_count && !is_known_.count(memory);
  }

  Piece piece(const Unit& unit, Segment* segment) {
    Piece piece{&unit, segment->call_count, {}, {}};
    segment->call_count += static_cast<int32_t>(unit.steps.size());
    segment->has_groups = segment->has_groups || unit.plan;
    for (const int64_t i : unit.steps) {
      const Step& step = lowered_.steps[i];
      Call call{&step, {}};
      for (size_t k = 0; k < step.operands.size(); ++k) {
        const int64_t base = step.operands[k].base;
        call.bases.push_back(base < 0 ? -1 : local(base, step.writes[k], segment));
      }
      piece.calls.push_back(std::move(call));
    }
    for (const int64_t base : unit.bases) {
      piece.bases.push_back(base == kScalarsBase ? kScalarsBase : local(base, false, segment));
    }
    return piece;
  }

  int32_t local(int64_t base, bool is_written, Segment* segment) {
    const Home& home = layout_.homes[base];
    int32_t memory = -1;
    if (home.memory >= 0) {
      const auto [found, is_first] =
          memories_.try_emplace(home.memory, static_cast<int32_t>(segment->memories.size()));
      memory = found->second;
      if (is_first) {
        const RunMemory& shared = layout_.memories[home.memory];
        segment->memories.push_back({home.memory, shared.is_shared && !shared.is_crossing, false});
      }
      bool& writes = segment->memories[memory].is_written;
      writes = writes || is_written;
    }
    const auto [found, is_first] =
        numbers_.try_emplace(base, static_cast<int32_t>(segment->bases.size()));
    if (is_first) segment->bases.push_back({base, memory, home.offset});
    return found->second;
  }

  void mark_last_uses() {
    std::vector<bool> is_used_later(layout_.memories.size());
    for (auto segment = segments_.rbegin(); segment != segments_.rend(); ++segment) {
      for (Segment::Use& use : segment->memories) {
        use.is_last = !is_used_later[use.memory];
        is_used_later[use.memory] = true;
      }
    }
  }

  const Lowered& lowered_;
  const Layout& layout_;
  const std::vector<Unit>& units_;
  std::vector<bool> is_awaited_;  // of each unit: another lane waits for it
  std::vector<Open> open_;
  int64_t next_ = 0;
  // Of the bases that several lanes use:
  std::vector<Access> writer_;
  std::vector<std::vector<Access>> readers_;
  std::vector<int64_t> last_write_;                                    // the unit
  std::set<std::tuple<const vm::DeviceState*, int, int64_t>> waited_;  // a lane, and for what
  // Of the segment that is made, and of all:
  std::unordered_map<int64_t, int32_t> numbers_, memories_;
  std::unordered_map<int64_t, bool> is_known_;
  std::vector<Segment> segments_;
};

/// Units of one segment have one time. Where it is cut does not depend on the memories.
std::vector<int64_t> segment_times(const Lowered& lowered, const std::vector<Unit>& units,
                                   const UnitOrder& order, Release release) {
  std::vector<int64_t> times(units.size());
  const Layout layout = lay_out(lowered, units, order, release, {});
  int64_t time = 0;
  for (const Segment& segment : Cutting(lowered, units, order, layout).segments()) {
    for (const Piece& piece : segment.pieces) times[piece.unit - units.data()] = time;
    ++time;
  }
  return times;
}

std::vector<Unit> units_on_lanes(const Lowered& lowered, const vm::Options& options, int lanes) {
  std::vector<Unit> units = form_units(lowered, options);
  if (lanes > 1) spread_over_lanes(lowered, &units, lanes);
  return units;
}

}  // namespace

Schedule::Schedule(std::shared_ptr<const Lowered> from, const vm::Options& options,
                   const ScheduleOptions& how)
    : lowered(std::move(from)),
      release(how.release),
      units(units_on_lanes(*lowered, options, how.lanes)),
      order(order_of(*lowered, units)),
      layout(lay_out(*lowered, units, order, release,
                     how.is_parallel ? segment_times(*lowered, units, order, release)
                                     : std::vector<int64_t>())) {
  segments = Cutting(*lowered, units, order, layout).segments();
}

}  // namespace ofl::graph
