-- The priority of the job of a response.
--
-- KEYS  record, load
-- Returns it; 1, which is the front, for a response that has no tag; nothing when it has not been let into its queue.

local f = read(record, 'tag queue turn')
if not f.tag then return not f.turn and 1 end
return priority_of(fair_key(load, f.queue), f.tag)
