import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { within } from './within.ts'

const WAIT_MAX_MS = 5_000

/** A parsed event of a stream. */
export interface StreamEvent {
  event: string
  // biome-ignore lint/suspicious/noExplicitAny: a test states its expectations of an event at once.
  data: any
}

/** Reads the server-sent events of a URL, one by one. */
export async function openEvents(url: string, headers: Record<string, string> = {}) {
  const request = get(url, { agent: false, headers })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const chunks = response.setEncoding('utf8')[Symbol.asyncIterator]() as AsyncIterator<string>
  let text = ''

  /** The text before the next empty line; null at the end. */
  async function block(): Promise<string | null> {
    for (;;) {
      const end = text.indexOf('\n\n')
      if (end >= 0) {
        const found = text.slice(0, end)
        text = text.slice(end + 2)
        return found
      }
      const { done, value } = await chunks.next()
      if (done) return null
      text += value
    }
  }

  async function next(): Promise<StreamEvent | null> {
    for (;;) {
      const found = await block()
      if (found === null) return null
      const [, event, data] = /^(?:id: .*\n)?event: (.*)\ndata: (.*)$/.exec(found) ?? []
      if (event !== undefined && data !== undefined) return { event, data: JSON.parse(data) }
    }
  }

  return {
    status: response.statusCode,
    headers: response.headers,
    /** The next event; null after the end of the stream. */
    next: () => within(WAIT_MAX_MS, 'an event', next()),
    close: () => void request.destroy(),
  }
}
