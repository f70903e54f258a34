-- Keeps the priorities of a queue below their end, in small steps. A priority is a tag's distance from the base. When the
-- virtual time has gone far from it, the base is moved up to it, and every waiting job is moved by as much, in order. While
-- that goes on, what is accepted gets the new number if it comes before the last one that was moved, and the old one
-- otherwise: so nobody jumps the queue.
--
-- A job that was added late, or comes back from a worker or from a delay, has a number of the old base. It is found by
-- that, which nothing new can have by then.
--
-- KEYS  fair, far (set: the queues that have gone far), jobs (sorted set: the waiting jobs, scored by priority * per_priority and their order within it)
-- ARGV  queue, job_prefix (what stands before an id in the key of a job), per_priority, most (jobs in one step)
-- Returns the number of jobs that were moved.

local f = redis.call('ZMSCORE', fair, 'base', 'next_base', 'shift', 'now', 'moved')
local base, next_base, shift, now = tonumber(f[1]) or 0, tonumber(f[2]), tonumber(f[3]), tonumber(f[4]) or 0
local moved = tonumber(f[5]) or 0
if not next_base then
  if now - base >= far_from then
    next_base = math.floor(now)
    shift = next_base - base
    redis.call('ZADD', fair, next_base, 'next_base', shift, 'shift', 0, 'moved')
    -- Tags that no flow needs any more.
    for _, flow in ipairs(redis.call('ZRANGEBYSCORE', fair, '-inf', '(' .. f[4], 'LIMIT', 0, 1000)) do
      if string.find(flow, ':', 1, true) then redis.call('ZREM', fair, flow) end
    end
  elseif not shift or now - base + most_ahead + 2 >= far_from then
    redis.call('SREM', far, queue)
    return 0
  end
end

-- More than any number by the new base, or where the last step has come to.
local least = moved > 0 and moved or math.ceil(now - (next_base or base)) + most_ahead + 3
local from = string.format('%.0f', least * per_priority)
local found = redis.call('ZRANGEBYSCORE', jobs, from, '+inf', 'WITHSCORES', 'LIMIT', 0, most)
local last
for at = 1, #found, 2 do
  local id, score = found[at], tonumber(found[at + 1])
  last = math.floor(score / per_priority)
  redis.call('ZADD', jobs, string.format('%.0f', math.max(per_priority, score - shift * per_priority)), id)
  redis.call('HSET', job_prefix .. id, 'priority', string.format('%.0f', math.max(1, last - shift)))
end
local count = #found / 2
if next_base then
  if count < most then
    redis.call('ZADD', fair, next_base, 'base')
    redis.call('ZREM', fair, 'next_base', 'moved')
  else
    redis.call('ZADD', fair, last, 'moved')
  end
end
return count
