-- Gives a response back unfinished: the next claim need not wait for this worker.
--
-- KEYS  record, load
-- ARGV  id
--       token   of the attempt
--       uncounted   1 to take the attempt off the count, if it is on it, because it called nothing
--       most_hand_overs   how often a worker that stops may hand it over before that counts as well; empty for other
--                         reasons to give it back
--       postponed_by   channel on which this worker still wants to hear of a request for the end, or empty
--       unbegun   1 to take back that its time to run has begun, if that was with this claim
--       shown   1 when a reader may have seen output of it, so that no other may follow
--       limited, limited_at   how often an upstream limited it, and when last; empty to leave that as it is
-- Returns 1 when the response was held and is now free, 0 otherwise; or a list of 1 and then id, queue and priority of each
-- response that may go into its queue now, because one that is given back for a while needs no place.

local f = read(record, 'token counted begun_by hand_overs tenant queue turn postponed_by')
if f.token ~= token then return 0 end
if postponed_by == '' then
  write(record, { token = '', worker = '' })
  -- It does not come back from being away, as it may have before.
  if f.postponed_by then clear(record, 'postponed_by') end
else
  write(record, { token = '', worker = '', postponed_by = postponed_by })
end
if unbegun == '1' and f.begun_by == string.sub(token, 1, 8) then clear(record, 'run_by') end
if shown == '1' then write(record, { shown = '1' }) end
if limited ~= '' then write(record, { limited = limited, limited_at = limited_at }) end
local has_counted = most_hand_overs and (f.hand_overs or 0) >= most_hand_overs
if most_hand_overs then add(record, 'hand_overs', 1) end
-- One that only ends a response is not counted, so there is nothing to take off.
if uncounted == '1' and f.counted == token and not has_counted then add(record, 'attempt', -1) end
if postponed_by == '' or not f.turn then return 1 end
leave_place(load, f.tenant, f.queue, id)
return let_in(1, record, id, load, f.tenant)
