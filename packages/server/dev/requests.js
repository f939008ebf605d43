/** Reads from this page's server. @throws Error with the server's message. */
export async function read(path, query = {}) {
  const response = await fetch(`/dev/api/${path}?${new URLSearchParams(query)}`)
  const body = await response.json()
  if (!response.ok) throw new Error(body.message)
  return body
}

/** Sends a message through the API, like any client. @throws Error with the API's message. */
export async function sendMessage(key, message) {
  const response = await fetch('/api/v1/messages/send', {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(message),
  })
  const body = await response.json()
  if (!response.ok) throw new Error(body.message)
  return body.data
}

const RECONNECT_MS = 2_000

/** Receives messages of a workspace and mails, also after interruptions. Returns the function that stops this. */
export function listen(workspace, { onMessages, onMail, onState }) {
  let source
  let timer
  const connect = () => {
    source = new EventSource(`/dev/api/stream?${new URLSearchParams({ workspace })}`)
    source.addEventListener('begin', () => onState('live'))
    source.addEventListener('messages', ({ data }) => onMessages(JSON.parse(data)))
    source.addEventListener('mail', ({ data }) => onMail(JSON.parse(data)))
    source.addEventListener('error', () => {
      onState('reconnecting')
      // A browser does not retry after a response that is not a stream.
      if (source.readyState !== EventSource.CLOSED) return
      timer = setTimeout(connect, RECONNECT_MS)
    })
  }
  connect()
  return () => {
    clearTimeout(timer)
    source.close()
  }
}
