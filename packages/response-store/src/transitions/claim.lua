-- Gives a new attempt the right to write, or says why there is nothing to run. The first act of every attempt.
--
-- KEYS  record, log, load
-- ARGV  token, worker (lease of the claiming process), total_ms (from the first claim to the end), max_attempts
--       lease_ms   for how long the claiming process has held its lease without a break; empty to take the response over
--                  whoever runs it
--       lapse_ms   how long a live process may take to renew a lease that lapsed while the store was away
--       most_losses   most runs that may die with their process
--
-- Returns { kind, now, attempt, seq, run_by, values of the record, losses, let in } with the values in the order of the list
-- `claimed`, as they were before the claim; those after the kind are numbers. `let in` has id, queue and priority of each
-- response that may go into its queue now:
--   missing         no such record: deleted, or expired                                        (alone in the reply)
--   unknown_version written by another release: left for a worker that knows it                (alone in the reply)
--   terminal        already ended                                                              (alone in the reply)
--   crowded         as many of its tenant run as may, or it was not let in: it has to wait in its line (alone in the reply)
--   overtaken       it comes back, and the virtual time has passed its tag: it has a new one, and goes back into its queue (with its
--                   new priority in the reply, and nothing else)
--   held            a worker that lives runs it, or may live: the store was away a moment ago     (alone in the reply)
--   cancelled       somebody asked for the end, or nobody waits any more          (lease taken)
--   expired         waited longer than it may, in the queue or for room, or ran out of time over attempts   (lease taken)
--   broken_off      an earlier attempt died after its output became visible       (lease taken)
--   lost            its runs died with their processes, and one more may take another one down     (lease taken)
--   exhausted       every attempt it may have is used up                          (lease taken)
--   run             attempt counted, status in_progress                           (lease taken)
-- A taken lease makes every older token superseded. Running it twice with two tokens leaves the later one; twice with
-- one token, after a lost reply, it counts one attempt.

local f, values = read(record, claimed)
if not f.status then return { 'missing' } end
if f.version ~= VERSION then return { 'unknown_version' } end
if not is_open(f.status) then return { 'terminal' } end

local now = now_ms()
-- Another worker's lease. A retry, and a claim whose reply was lost, come from the process that holds it.
local is_foreign = f.worker and f.worker ~= '' and f.worker ~= worker
if is_foreign and lease_ms and (lease_ms < lapse_ms or redis.call('EXISTS', f.worker) == 1) then return { 'held' } end

local was_queued = f.status == QUEUED
local attempt, seq = f.attempt or 0, f.seq
local losses = f.losses or 0
if f.counted == token then attempt = attempt - 1 end
-- Counted, never given back, and its process is gone: that run was cut off, which is not the response's fault until it
-- happens again.
if is_foreign and lease_ms and f.counted == f.token then attempt, losses = attempt - 1, losses + 1 end
-- A watching process is not given up within its lapse, so a young response needs no look at its lease.
local is_young = (f.watchers or '') ~= '' and not f.left_at and now - f.accepted_at < watcher_lapse_ms
local kind = 'run'
if f.cancel or (not is_young and note_absence(record, f, now)) then
  kind = 'cancelled'
elseif now > (f.run_by or f.queue_by) then
  kind = 'expired'
elseif f.stream and (f.shown or seq > (was_queued and 1 or 2)) then
  kind = 'broken_off'
elseif losses >= most_losses then
  kind = 'lost'
elseif attempt >= max_attempts then
  kind = 'exhausted'
end
-- One that a worker has given back for a while went on in the order when it was claimed first, and has had nothing for it. Its old tag is before that
-- of every newcomer, so all of its tenant that comes back would go before any other.
local was_away = false
if kind == 'run' and not was_queued and lease_ms and f.tag and (f.worker or '') == '' then
  local away = read(record, 'postponed_by tier cost')
  was_away = (away.postponed_by or '') ~= '' and away.cost
  if was_away and is_passed(fair_key(load, f.queue), f.tag) then
    local tag, priority = take_tag(load, f.queue, return_flow_of(f.tenant, away.tier), away.cost)
    write(record, { tag = tag })
    return { 'overtaken', priority }
  end
end
-- A token that was taken before, by a call whose reply was lost, has its place. One that was never let in has no tag, and
-- would be in front of everybody and cost its tenant nothing.
if kind == 'run' and f.turn then
  local is_gone = is_gone_beside(record, f.id)
  if not f.tag or not take_place(load, f.tenant, f.queue, f.id, f.turn, is_gone) then return { 'crowded' } end
end
if kind ~= 'run' then
  -- Its end may not be written, and then the next claim must come to the same: the run that was lost here stays counted.
  write(record, { token = token, worker = worker, losses = losses })
  return { kind, now, attempt, seq, f.run_by or now, values, losses }
end

attempt = attempt + 1
local run_by = f.run_by or now + total_ms
local begun_by = f.run_by and (f.begun_by or '') or string.sub(token, 1, 8)
-- Everything that changes is written by one command: the store logs and replicates commands, not fields.
if not was_queued then
  -- The virtual time follows what comes back, too: its flow would be ahead of it for ever by all that it was ever charged.
  if was_away then advance(fair_key(load, f.queue), f.tag) end
  write(record, {
    token = token, worker = worker, attempt = attempt, counted = token, losses = losses, run_by = run_by,
    begun_by = begun_by
  })
else
  seq = 2
  start(load, f.tenant, f.queue, f.weight, f.tag)
  write(record, {
    status = IN_PROGRESS, seq = '2', started_at = string.format('%.0f', now), token = token, worker = worker,
    attempt = attempt, counted = token, run_by = string.format('%.0f', run_by), begun_by = begun_by
  })
  local event = '{"type":"response.in_progress"}'
  if f.stream then redis.call('XADD', log, '1-2', 'e', event) end
  -- A synchronous caller waits for the end alone and is spared the message.
  if f.stream or f.followed then tell_watchers(f.watchers, f.id, { f.id .. ' 2 1 -', event }) end
end
return { kind, now, attempt, seq, run_by, values, losses, f.turn and let_in(nil, record, f.id, load, f.tenant) or {} }
