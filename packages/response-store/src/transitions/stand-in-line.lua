-- Lets a response wait for a place of its tenant, outside of its queue. Its job waits there already, as one that is
-- delayed. Doing it twice is the same as doing it once; one that was let in before is let in again, because whoever was
-- told of it may have died before it moved the job.
--
-- KEYS  record, load
-- ARGV  id
-- Returns a list of id, queue and priority of each response that may go into its queue now; this one may be among them. Returns 0 when it
-- has ended.

local f = read(record, 'status tenant queue turn tag')
if not f.status or not is_open(f.status) then return 0 end
if not f.turn then return {} end
local stands = stand_in_line(load, f.tenant, f.queue, id, f.turn)
if stands == 'runs' then return {} end
if stands == 'let_in' and f.tag then return { id, f.queue, priority_of(fair_key(load, f.queue), f.tag) } end
return let_in(nil, record, id, load, f.tenant)
