#include "ep/communicators/mpi/world.h"

#include <utility>

#include "ep/communicators/mpi/process.h"

namespace ofl::ep {

namespace mpi {

namespace {

class MpiWork final : public Work {
 public:
  MpiWork(std::shared_ptr<Process> process, std::shared_ptr<Group> group, uint64_t number)
      : process_(std::move(process)), group_(std::move(group)), number_(number) {}
  ~MpiWork() override {
    if (!is_over_) process_->drop(*group_, number_);
  }

  bool test() override {
    if (!is_over_) is_over_ = process_->advance(*group_, number_, &verdict_, &reason_);
    return is_over_;
  }
  bool awaits_others() const override {
    return !is_over_ && !process_->is_decided(*group_, number_);
  }
  void tell_waiting() override { process_->tell_waiting(*group_, number_); }
  std::vector<int32_t> late() const override { return process_->late(*group_, number_); }
  bool ask() override { return process_->ask(*group_, number_); }
  std::vector<std::string> answers() const override { return process_->answers(*group_, number_); }
  double turn() const override {
    return static_cast<double>(group_->places.own) / group_->places.size();
  }
  void abort(const std::string& reason) override { process_->abort(reason); }
  Verdict verdict() const override { return verdict_; }
  std::string reason() const override { return reason_; }

 private:
  const std::shared_ptr<Process> process_;
  const std::shared_ptr<Group> group_;
  const uint64_t number_;
  bool is_over_ = false;
  Verdict verdict_ = Verdict::moved;
  std::string reason_;
};

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator(std::shared_ptr<Process> process, std::shared_ptr<Group> group)
      : process_(std::move(process)), group_(std::move(group)) {}

  int rank() const override { return group_->places.own; }
  int size() const override { return group_->places.size(); }
  std::unique_ptr<Work> post(Collective collective) override {
    return std::make_unique<MpiWork>(process_, group_,
                                     process_->post(*group_, std::move(collective)));
  }
  void abort(const std::string& reason) override { process_->abort(reason); }
  std::optional<std::string> aborted() override { return process_->aborted(); }

 private:
  const std::shared_ptr<Process> process_;
  const std::shared_ptr<Group> group_;
};

class MpiWorld final : public World {
 public:
  MpiWorld(const Library& library, std::unique_ptr<Segment> segment)
      : process_(std::make_shared<Process>(library, std::move(segment))) {}

  int rank() const override { return process_->rank(); }
  int size() const override { return process_->size(); }
  std::unique_ptr<Communicator> group(const std::vector<int32_t>& ranks) override {
    return std::make_unique<MpiCommunicator>(process_, process_->group(ranks));
  }
  void abort(const std::string& reason) override { process_->abort(reason); }
  void leave() override { process_->leave(false); }
  void leave_together() override { process_->leave(true); }

 private:
  const std::shared_ptr<Process> process_;
};

}  // namespace

}  // namespace mpi

size_t segment_bytes(int ranks) { return mpi::Segment::bytes_for(ranks); }

std::unique_ptr<World> make_mpi_world(const mpi::Library& library, HostMemory host) {
  std::unique_ptr<mpi::Segment> segment;
  if (host.memory) {
    segment =
        std::make_unique<mpi::Segment>(std::move(host.memory), std::move(host.ranks), library.rank);
  }
  return std::make_unique<mpi::MpiWorld>(library, std::move(segment));
}

}  // namespace ofl::ep
