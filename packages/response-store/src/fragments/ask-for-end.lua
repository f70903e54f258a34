-- Fragment: somebody wants the end of a response.

-- Notes the reason, unless there is one, and rings the worker that runs the response. f holds worker and id.
local function ask_for_end(record, f, reason)
  write_once(record, 'cancel', reason)
  if f.worker and f.worker ~= '' then redis.call('PUBLISH', f.worker, f.id) end
end
