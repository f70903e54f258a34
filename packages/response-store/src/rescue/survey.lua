-- The rescuer's look at responses without an end.
--
-- KEYS  open, load, then the records
-- ARGV  again_ms   empty, or: those that are still open are looked at again when their time runs out, and this much
--                  later at the earliest
--       log_prefix, large_prefix   what stands before an id in the keys of its log and its large value
--       then the id of each record
--
-- Returns { now, then for each: kind, queue, accepted at }:
--   vanished   no record, although nothing ended it: what else there is of it is taken away here; its counts need a
--              recount
--   gone       it has ended: taken out of the open set here
--   unknown_version   written by another release, whose rescue looks after it
--   cancelled  queued, and somebody asked for the end or nobody waits
--   expired    queued for longer than it may be
--   unqueued   in the background, and its job was never added as far as anybody knows
--   overdue    in progress, and it should have ended: its time ran out `own_end_ms` ago, or it waited for room for longer than it may
--   stopping   in progress, and somebody asked for its end
--   held       in progress in a worker that lives
--   left_out   its job may be forgotten outside of its queue: it was let in, or is in the line of its tenant while there is
--              a place; or it is queued, and neither was let in nor stands in line
--   queued | in_progress   look whether its job is still there

-- A worker that still runs a response ends it on time by itself. This much later it will not any more.
local own_end_ms = 5000

-- Whether a line stands still although there is a place, as of a look at each for its first response here. A line hears
-- nothing of a record that was deleted behind our back, which is taken out here, or of a higher limit.
local seen = {}
local function stands_still(record, id, tenant, queue)
  local line, running = line_key(load, tenant, queue), running_key(load, tenant)
  if seen[line] then return false end
  seen[line] = true
  local is_gone = is_gone_beside(record, id)
  for _, other in ipairs(redis.call('SRANDMEMBER', running, 10)) do
    if is_gone(other) then redis.call('SREM', running, other) end
  end
  for _, other in ipairs(redis.call('ZRANGEBYSCORE', line, '-inf', '(0', 'LIMIT', 0, 10)) do
    if is_gone(other) then redis.call('ZREM', line, other) end
  end
  local most = tonumber(redis.call('HGET', places_key(load, tenant), 'most')) or math.huge
  return redis.call('SCARD', running) + redis.call('ZCOUNT', line, '-inf', '(0') < most
end

-- Whether nobody may be moving the job of a response; `otherwise` says so of one that is in no line.
local function is_left_out(record, f, id, otherwise)
  local turn = redis.call('ZSCORE', line_key(load, f.tenant, f.queue), id)
  if not turn then return otherwise end
  return tonumber(turn) < 0 or stands_still(record, id, f.tenant, f.queue)
end

local now = now_ms()
local reply = { now }
for at = more_args, #ARGV do
  local id, record = ARGV[at], KEYS[more_keys + at - more_args]
  local f = read(record, 'version status cancel background watchers left_at grace_ms queue_by enqueued queue run_by accepted_at worker tenant turn')
  local kind = f.status
  if not f.status or not is_open(f.status) then
    kind = f.status and 'gone' or 'vanished'
    redis.call('ZREM', open, id)
    if not f.status then redis.call('UNLINK', log_prefix .. id, large_prefix .. id) end
  elseif f.version ~= VERSION then
    kind = 'unknown_version'
  elseif f.status == QUEUED then
    if f.cancel or note_absence(record, f, now) then
      kind = 'cancelled'
    elseif now > f.queue_by then
      kind = 'expired'
    elseif not f.enqueued and f.background then
      kind = 'unqueued'
    elseif f.turn and is_left_out(record, f, id, true) then
      kind = 'left_out'
    end
  elseif now > (f.run_by or f.queue_by) + own_end_ms then
    kind = 'overdue'
  elseif f.cancel then
    kind = 'stopping'
  elseif f.worker and f.worker ~= '' and redis.call('EXISTS', f.worker) == 1 then
    kind = 'held'
  -- One that waits for its upstream stands in no line.
  elseif f.turn and is_left_out(record, f, id, false) then
    kind = 'left_out'
  end
  if again_ms and f.status and is_open(f.status) then
    -- The clock of the process that asks may be ahead: by the store's clock the time may not be over.
    -- Nobody knows the times of a record of another release.
    local due = f.run_by or f.queue_by or 0
    redis.call('ZADD', open, 'XX', due >= now and due or now + again_ms, id)
  end
  reply[#reply + 1] = kind
  reply[#reply + 1] = f.queue or ''
  reply[#reply + 1] = f.accepted_at or now
end
return reply
