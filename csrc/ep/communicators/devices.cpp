#include "ep/communicators/devices.h"

#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/error.h"

namespace ofl::ep {

class ExchangeTurn final : public Turn {
 public:
  ExchangeTurn(std::shared_ptr<ExchangeOrder> order, uint64_t number)
      : order_(std::move(order)), number_(number) {}
  ~ExchangeTurn() override { pass(); }

  bool has_come() override {
    const std::lock_guard<std::mutex> lock(order_->mutex_);
    return order_->waiting_.empty() || *order_->waiting_.begin() >= number_;
  }
  void pass() override {
    const std::lock_guard<std::mutex> lock(order_->mutex_);
    order_->waiting_.erase(number_);
  }

 private:
  const std::shared_ptr<ExchangeOrder> order_;
  const uint64_t number_;
};

std::shared_ptr<Turn> ExchangeOrder::enter() {
  const std::lock_guard<std::mutex> lock(mutex_);
  waiting_.insert(next_);
  return std::make_shared<ExchangeTurn>(shared_from_this(), next_++);
}

namespace {

class DeviceWork final : public Work {
 public:
  DeviceWork(std::shared_ptr<Communicator> checks, std::shared_ptr<Peers> peers,
             Collective collective)
      : checks_(std::move(checks)),
        peers_(std::move(peers)),
        turn_(std::move(collective.turn)),
        sends_(std::exchange(collective.sends, {})),
        receives_(std::exchange(collective.receives, {})),
        check_(checks_->post(std::move(collective))) {}
  ~DeviceWork() override {
    if (!is_over_) {
      checks_->abort(concat("place ", checks_->rank(), " left a collective in flight"));
      peers_->abort();
    }
  }

  bool test() override {
    if (is_over_) return true;
    if (!is_checked_) {
      if (!check_->test()) return false;
      is_checked_ = true;
      if (check_->verdict() != Verdict::moved) end(check_->verdict(), check_->reason());
    }
    if (!is_over_) exchange();
    return is_over_;
  }
  bool awaits_others() const override {
    return !is_over_ && (is_checked_ ? !exchange_ : check_->awaits_others());
  }
  bool can_stall() const override { return !is_over_ && exchange_ != nullptr; }
  void tell_waiting() override {
    if (!is_checked_) check_->tell_waiting();
  }
  std::vector<int32_t> late() const override {
    return is_checked_ ? std::vector<int32_t>() : check_->late();
  }
  bool ask() override { return !is_checked_ && check_->ask(); }
  std::vector<std::string> answers() const override { return check_->answers(); }
  double turn() const override { return check_->turn(); }
  void abort(const std::string& reason) override { check_->abort(reason); }
  Verdict verdict() const override { return verdict_; }
  std::string reason() const override { return reason_; }

 private:
  /// Where all is aborted, this one gets some time: the others may have begun as well, and then it
  /// ends as it should.
  static constexpr int64_t kGraceNs = 1'000'000'000;

  void exchange() {
    try {
      if (!exchange_ && turn_->has_come()) exchange_ = peers_->begin(sends_, receives_);
      if (exchange_ && exchange_->test()) return end(Verdict::moved, "");
      if (exchange_ && exchange_->is_enqueued()) turn_->pass();
    } catch (const Error& error) {
      peers_->abort();
      const std::optional<std::string> known = checks_->aborted();
      if (!known) checks_->abort(error.what());
      return end(Verdict::aborted, known ? *known : error.what());
    }
    const std::optional<std::string> reason = checks_->aborted();
    if (!reason) return;
    const int64_t now = now_ns();
    if (aborted_at_ == 0) aborted_at_ = now;
    if (exchange_ && now - aborted_at_ < kGraceNs) return;
    if (exchange_) peers_->abort();
    end(Verdict::aborted, *reason);
  }

  void end(Verdict verdict, std::string reason) {
    verdict_ = verdict;
    reason_ = std::move(reason);
    is_over_ = true;
    exchange_.reset();
    turn_->pass();
  }

  const std::shared_ptr<Communicator> checks_;
  const std::shared_ptr<Peers> peers_;
  const std::shared_ptr<Turn> turn_;
  const std::vector<Transfer> sends_, receives_;
  const std::unique_ptr<Work> check_;
  std::unique_ptr<Exchange> exchange_;  // once it has begun
  bool is_checked_ = false, is_over_ = false;
  int64_t aborted_at_ = 0;
  Verdict verdict_ = Verdict::moved;
  std::string reason_;
};

class DeviceCommunicator final : public Communicator {
 public:
  DeviceCommunicator(std::shared_ptr<Communicator> checks, std::shared_ptr<Peers> peers)
      : checks_(std::move(checks)), peers_(std::move(peers)) {}

  int rank() const override { return checks_->rank(); }
  int size() const override { return checks_->size(); }
  std::unique_ptr<Work> post(Collective collective) override {
    return std::make_unique<DeviceWork>(checks_, peers_, std::move(collective));
  }
  void abort(const std::string& reason) override { checks_->abort(reason); }
  std::optional<std::string> aborted() override { return checks_->aborted(); }

 private:
  const std::shared_ptr<Communicator> checks_;
  const std::shared_ptr<Peers> peers_;
};

}  // namespace

std::unique_ptr<Communicator> make_device_communicator(std::shared_ptr<Communicator> checks,
                                                       std::shared_ptr<Peers> peers) {
  return std::make_unique<DeviceCommunicator>(std::move(checks), std::move(peers));
}

}  // namespace ofl::ep
