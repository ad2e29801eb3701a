#include "ep/communicators/mpi/mailbox.h"

#include <cstring>
#include <utility>

namespace ofl::ep::mpi {

namespace {

/// Larger than any library's MPI_Status.
struct Status {
  alignas(16) char bytes[64];
};

}  // namespace

std::string fitting(std::string text) {
  size_t most = Mailbox::kMostBytes;
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  text.resize(most);
  return text;
}

void Mailbox::Letter::make_room(size_t wanted) {
  if (room >= wanted) return;
  bytes.reset(new char[wanted]);  // of any values
  room = wanted;
}

Mailbox::Mailbox(const Library& library) : library_(library) {
  for (int i = 0; i < kReceives; ++i) {
    expected_.push_back(std::make_unique<Letter>());
    expected_.back()->make_room(sizeof(Envelope) + kMostBytes);
    receive(expected_.back().get());
  }
}

void Mailbox::receive(Letter* letter) {
  require_success(
      library_,
      library_.irecv(letter->bytes.get(), static_cast<int>(letter->room), library_.byte,
                     library_.any_source, kTag, library_.communicator, &letter->request),
      "MPI_Irecv");
}

bool Mailbox::is_done(Letter* letter) {
  int is_done = 0;
  Status status;
  require_success(library_, library_.test(&letter->request, &is_done, &status), "MPI_Test");
  return is_done != 0;
}

void Mailbox::send(int rank, const Envelope& envelope, const void* follows) {
  collect_sent();
  if (unused_.empty()) unused_.push_back(std::make_unique<Letter>());
  std::unique_ptr<Letter> letter = std::move(unused_.back());
  unused_.pop_back();
  const size_t bytes = sizeof envelope + envelope.bytes;
  letter->make_room(bytes);
  std::memcpy(letter->bytes.get(), &envelope, sizeof envelope);
  if (envelope.bytes) std::memcpy(letter->bytes.get() + sizeof envelope, follows, envelope.bytes);
  require_success(library_,
                  library_.isend(letter->bytes.get(), static_cast<int>(bytes), library_.byte, rank,
                                 kTag, library_.communicator, &letter->request),
                  "MPI_Isend");
  sent_.push_back(std::move(letter));
}

// The library matches messages of one rank with receives in the order in which these were posted,
// so the first one alone is looked at.
void Mailbox::poll(const std::function<void(const Envelope&, const char*)>& deliver) {
  while (!is_closed_ && is_done(expected_.front().get())) {
    std::unique_ptr<Letter> letter = std::move(expected_.front());
    expected_.pop_front();
    Envelope envelope;
    std::memcpy(&envelope, letter->bytes.get(), sizeof envelope);
    deliver(envelope, letter->bytes.get() + sizeof envelope);
    receive(letter.get());
    expected_.push_back(std::move(letter));
  }
  collect_sent();
}

void Mailbox::collect_sent() {
  while (!sent_.empty() && is_done(sent_.front().get())) {
    unused_.push_back(std::move(sent_.front()));
    sent_.pop_front();
  }
}

bool Mailbox::has_sent_all() {
  collect_sent();
  return sent_.empty();
}

// A receive that is cancelled is over after a few looks; else its memory stays with the library.
void Mailbox::close() {
  if (std::exchange(is_closed_, true)) return;
  for (std::unique_ptr<Letter>& letter : expected_) {
    Letter* const left = letter.release();
    require_success(library_, library_.cancel(&left->request), "MPI_Cancel");
    bool is_over = false;
    for (int look = 0; look < kLooks && !is_over; ++look) is_over = is_done(left);
    if (is_over) delete left;
  }
  expected_.clear();
  for (std::unique_ptr<Letter>& letter : sent_) static_cast<void>(letter.release());
  sent_.clear();
}

}  // namespace ofl::ep::mpi
