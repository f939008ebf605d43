import { invalid } from '../contract/errors.ts'
import { LIMITS } from '../contract/limits.ts'
import { createHttpClient, type HttpAnswer, type HttpClient } from '../http/client.ts'
import { createTargetGuard, type TargetPolicy } from '../webhooks/target.ts'
import { createTargetConnector } from '../webhooks/target-connector.ts'

/** The time limit of one fetch. A request with an idempotency key is answered within 9.5 s. */
const DEADLINE_MS = 8_000

/** The maximum number of simultaneous fetches from one origin; further fetches wait within their deadline. */
const CONNECTIONS = 4

/** Fetches files that requests name by their address. */
export interface Files {
  /**
   * Fetches a file from an address that webhooks may go to: public, and `https` unless the operator allows `http`. Redirects are
   * not followed.
   * @throws SvcError `validation_error` with the path `url` for another address, a file larger than all attachments of an
   *   e-mail, an answer other than 200, or no answer within 8 s.
   */
  fetch(url: string): Promise<Uint8Array>
}

export function createFiles(policy: TargetPolicy): Files & { close(): Promise<void> } {
  const guard = createTargetGuard(policy)
  let client: HttpClient | null = null
  const open = () =>
    createHttpClient({
      connect: createTargetConnector(policy),
      deadline_ms: DEADLINE_MS,
      body_max: LIMITS.email_attachments_bytes,
      connections: CONNECTIONS,
      idle_ms: 1_000,
    })
  return {
    async fetch(url) {
      await guard.check(url)
      client ??= open()
      const headers = { 'user-agent': 'Svc-Files/1', accept: '*/*', 'accept-encoding': 'identity' }
      return fileIn(await client.call({ method: 'GET', url, headers }))
    },
    async close() {
      await client?.close()
    },
  }
}

function fileIn(answer: HttpAnswer): Uint8Array {
  if (answer.type !== 'answered') throw invalid('url', `The file was not fetched: ${answer.text}`)
  if (answer.status !== 200) {
    throw invalid('url', `The file was not fetched: the server answered ${answer.status}`)
  }
  if (!answer.is_whole) {
    throw invalid('url', `The file has more than ${LIMITS.email_attachments_bytes} bytes`)
  }
  if ((answer.headers['content-encoding'] ?? 'identity') !== 'identity') {
    throw invalid('url', 'The file was not fetched: the server compressed it')
  }
  return answer.body
}
