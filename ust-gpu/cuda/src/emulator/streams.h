// Which stream has waited for what: launches run at once here, so a wait that is missing shows in no value.
//
// A stream counts its work, and knows how far each other one had come when it waited for it. The host is
// one more, which all of its threads share: how they wait for each other is not seen.
#pragma once
#include "memory.h"

typedef std::vector<uint64_t> Clock;

static void join(Clock& to, const Clock& from) {
  if (to.size() < from.size()) to.resize(from.size());
  for (size_t i = 0; i < from.size(); i++) if (from[i] > to[i]) to[i] = from[i];
}

static Clock host;
// Numbers of streams that are gone. Who gets one goes on counting.
static std::vector<uint32_t> spare;
static std::vector<uint64_t> counted;

struct Stream {
  uint32_t number;
  Clock clock;
  // What a launch left behind, until the host waits for the stream.
  int code = 0;
  std::string message;

  Stream() {
    if (spare.empty()) counted.push_back(0), spare.push_back((uint32_t)counted.size() - 1);
    number = spare.back();
    spare.pop_back();
  }
  ~Stream() { spare.push_back(number); }
  // Begins a piece of work.
  Use next(std::string what) {
    join(clock, host);
    if (clock.size() <= number) clock.resize(number + 1);
    clock[number] = ++counted[number];
    return {number, clock[number], std::move(what)};
  }
  bool knows(const Use& use) const {
    return use.time == 0 || (use.stream < clock.size() && clock[use.stream] >= use.time);
  }
  // Why the stream may not use an allocation now; nothing if it may.
  std::string objection(const Block& b, bool writes) const {
    const Use* other = knows(b.write_use) ? nullptr : &b.write_use;
    if (writes) for (const Use& read : b.reads) if (!knows(read)) other = &read;
    if (!other) return "";
    return b.name + " is used by " + other->what + " on stream " + std::to_string(other->stream) +
           ", for which stream " + std::to_string(number) + " has not waited";
  }
};

static void used(Block& b, const Use& use, bool writes) {
  if (writes) {
    b.write_use = use;
    b.reads.clear();
    return;
  }
  for (Use& read : b.reads) if (read.stream == use.stream) { read = use; return; }
  b.reads.push_back(use);
}
