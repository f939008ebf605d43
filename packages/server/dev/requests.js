/** Reads of this page's server. @throws Error with the server's own text. */
export async function read(path, query = {}) {
  const response = await fetch(`/dev/api/${path}?${new URLSearchParams(query)}`)
  const body = await response.json()
  if (!response.ok) throw new Error(body.message)
  return body
}

/** Sends a message as any client would, by the API. @throws Error with what the API says is wrong. */
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

/** Hears of a workspace's messages and of mails as they come, over every interruption. Answers how to stop. */
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
      // After an answer that is no stream a browser gives up for good.
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
