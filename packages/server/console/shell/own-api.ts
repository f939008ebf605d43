import { type ErrorCode, SvcError, ValidationError } from '@svc/client'
import { base } from './facts.ts'
import { choiceHeaders, loadSession } from './session.ts'
import { t } from './text.ts'

interface Envelope<T> {
  success: boolean
  data: T
  error: ErrorCode
  message: string
  details?: ValidationError['details']
}

/** The address of an endpoint that only the console has; undefined values of the query are left out. */
export function ownUrl(path: string, query: Record<string, string | undefined> = {}): string {
  const known = Object.entries(query).filter(([, value]) => value !== undefined)
  const text = new URLSearchParams(known as [string, string][]).toString()
  return `${base}/api${path}${text && `?${text}`}`
}

/** The endpoints that only the console has, below its `/api/`. Errors are those of `api`: @throws SvcError */
export const ownApi = {
  /** `path`: such as `/history`; undefined values of the query are left out. */
  get<T>(
    path: string,
    query: Record<string, string | undefined> = {},
    signal?: AbortSignal,
  ): Promise<T> {
    return ask(ownUrl(path, query), { ...(signal && { signal }) })
  },
  /** Sends a change. */
  send<T>(method: 'POST' | 'PUT' | 'DELETE', path: string, body?: object): Promise<T> {
    return ask(ownUrl(path), { method, ...(body && { body: JSON.stringify(body) }) })
  },
  /** Lets the service read a file, or a text, as a table. */
  read<T>(
    path: string,
    body: Blob | string,
    query: Record<string, string | undefined>,
    signal?: AbortSignal,
  ): Promise<T> {
    const init = { method: 'POST', body, ...(signal && { signal }) }
    return ask(ownUrl(path, query), init, 'text/csv')
  },
}

/**
 * Loads an export as a file. `onPart` gets the bytes as they arrive. @throws SvcError for a refusal; TypeError if the answer ends
 * too early
 */
export async function loadExport(
  path: string,
  query: Record<string, string | undefined>,
  { signal, onPart }: { signal: AbortSignal; onPart(bytes: Uint8Array): void },
): Promise<Blob> {
  const response = await request(ownUrl(path, query), { signal })
  if (!response.ok || !response.body) return readAnswer(response)
  const parts: BlobPart[] = []
  const reader = response.body.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    parts.push(value)
    onPart(value)
  }
  return new Blob(parts, { type: 'text/csv' })
}

async function ask<T>(url: string, init: RequestInit, type = 'application/json'): Promise<T> {
  return readAnswer(await request(url, init, type))
}

async function request(url: string, init: RequestInit, type = ''): Promise<Response> {
  const headers = { ...choiceHeaders(), ...(init.body && { 'content-type': type }) }
  const response = await fetch(url, { ...init, headers }).catch((error) => {
    if (init.signal?.aborted) throw error
    throw new SvcError('connection_failed', t('The service cannot be reached.'))
  })
  if (response.status === 401) void loadSession().catch(() => {})
  return response
}

/** The data of an answer. @throws SvcError for a refusal */
async function readAnswer<T>(response: Response): Promise<T> {
  const { status } = response
  const facts = { status, requestId: response.headers.get('x-request-id') }
  const answer = (await response.json().catch(() => null)) as Envelope<T> | null
  if (answer?.success) return answer.data
  const text = answer?.message ?? t('The service answered with status {status}.', { status })
  if (answer?.details) throw new ValidationError(text, answer.details, facts)
  throw new SvcError(answer?.error ?? 'unexpected_answer', text, facts)
}
