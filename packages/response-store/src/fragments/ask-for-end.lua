-- Fragment: somebody wants the end of a response.

-- Notes the reason, unless there is one, and rings the worker that runs the response, or else the one that postponed it.
-- f holds worker, postponed_by and id.
local function ask_for_end(record, f, reason)
  write_once(record, 'cancel', reason)
  local channel = f.worker
  if not channel or channel == '' then channel = f.postponed_by end
  if channel then redis.call(PUBLISH, channel, f.id) end
end
