import { invalid } from '../contract/errors.ts'
import { LIMITS } from '../contract/limits.ts'
import {
  createHttpClient,
  type HttpAnswer,
  type HttpClient,
  type HttpResponse,
} from '../http/client.ts'
import { createTargetGuard, type TargetPolicy } from '../webhooks/target.ts'
import { createTargetConnector } from '../webhooks/target-connector.ts'

/** The time limit of one fetch. A request with an idempotency key is answered within 9.5 s. */
const DEADLINE_MS = 8_000

/** The maximum number of simultaneous fetches from one origin; further fetches wait within their deadline. */
const CONNECTIONS = 4

/** The largest document, as for TwiML at Twilio. */
const DOCUMENT_BYTES = 64 * 1024

const USUAL_HEADERS = {
  'user-agent': 'Svc-Files/1',
  accept: '*/*',
  'accept-encoding': 'identity',
}

/** Fetches files that requests name by their address. */
export interface Files {
  /**
   * Fetches a file from an address that webhooks may go to: public, and `https` unless the operator allows `http`. Redirects are
   * not followed.
   * @throws SvcError `validation_error` with the path `url` for another address, a file larger than all attachments of an
   *   e-mail, an answer other than 200, or no answer within 8 s.
   */
  fetch(url: string): Promise<Uint8Array>
  /**
   * Asks a program of the caller for a document, with the same limits of address and time. Redirects are not followed.
   * @throws SvcError `validation_error` with the path `url` for an address that is not allowed; with the path `answer` for an
   *   answer other than 200, more than 64 KiB or compressed, or no answer within 8 s.
   */
  ask(request: DocumentRequest): Promise<{ content_type: string; bytes: Uint8Array }>
}

/** A request for a document: a POST with a form, or a GET. */
export interface DocumentRequest {
  url: string
  /** The body of a POST; a GET has none. */
  form: string | null
  headers: Record<string, string>
}

export function createFiles(
  policy: TargetPolicy,
  bytes_max: number = LIMITS.email_attachments_bytes,
): Files & { close(): Promise<void> } {
  const guard = createTargetGuard(policy)
  let files: HttpClient | null = null
  let documents: HttpClient | null = null
  const open = (body_max: number) =>
    createHttpClient({
      connect: createTargetConnector(policy),
      deadline_ms: DEADLINE_MS,
      body_max,
      connections: CONNECTIONS,
      idle_ms: 1_000,
    })
  return {
    async fetch(url) {
      await guard.check(url)
      files ??= open(bytes_max)
      const answer = await files.call({ method: 'GET', url, headers: USUAL_HEADERS })
      const max = bytes_max
      return contentOf(answer, { path: 'url', what: 'The file', max }).body
    },
    async ask({ url, form, headers }) {
      await guard.check(url)
      documents ??= open(DOCUMENT_BYTES)
      const type = form !== null && { 'content-type': 'application/x-www-form-urlencoded' }
      const answer = await documents.call({
        method: form === null ? 'GET' : 'POST',
        url,
        headers: { ...USUAL_HEADERS, ...headers, ...type },
        ...(form !== null && { body: form }),
      })
      const max = DOCUMENT_BYTES
      const read = contentOf(answer, { path: 'answer', what: 'The document', max })
      return { content_type: String(read.headers['content-type'] ?? ''), bytes: read.body }
    },
    async close() {
      await Promise.all([files?.close(), documents?.close()])
    },
  }
}

/** The whole answer with its content. */
function contentOf(
  answer: HttpAnswer,
  { path, what, max }: { path: string; what: string; max: number },
): HttpResponse {
  if (answer.type !== 'answered') throw invalid(path, `${what} was not fetched: ${answer.text}`)
  if (answer.status !== 200) {
    throw invalid(path, `${what} was not fetched: the server answered ${answer.status}`)
  }
  if (!answer.is_whole) throw invalid(path, `${what} has more than ${max} bytes`)
  if ((answer.headers['content-encoding'] ?? 'identity') !== 'identity') {
    throw invalid(path, `${what} was not fetched: the server compressed it`)
  }
  return answer
}
