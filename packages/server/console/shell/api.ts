import { type Fetch, Svc, SvcError } from '@svc/client'
import { base } from './facts.ts'
import { choiceHeaders, chosenWorkspace, loadSession } from './session.ts'
import { t } from './text.ts'
import { inWords } from './words.ts'

/** The browser sends the cookie; the credentials that the client writes are removed. */
const send: Fetch = async (url, { headers, ...init }) => {
  const { authorization: _, 'x-api-key': __, ...rest } = headers
  const response = await fetch(url, {
    ...init,
    headers: { ...rest, ...choiceHeaders() },
  } as RequestInit)
  // Once for several calls that fail together: the session decides which page is shown.
  if (response.status === 401) void loadSession().catch(() => {})
  return response
}

/** The API of the service as the signed-in person, in the chosen workspace and mode: `api.messages.list({ limit: '20' })`. */
export const api = new Svc({
  baseUrl: location.origin + base,
  allowHttp: true,
  apiKey: 'cookie',
  token: 'cookie',
  fetch: send,
  maxRetries: 1,
})

/** The text of an error for a person. */
export function errorText(error: unknown): string {
  if (error instanceof SvcError && error.code === 'connection_failed') {
    return t('The service cannot be reached. Check the connection, then try again.')
  }
  return inWords(error instanceof Error ? error.message : String(error))
}

interface Detailed {
  details?: readonly { path: string; message: string }[]
}

/** The faults that fields show, so that no box repeats them. */
const shown = new WeakSet<object>()

/** The fault of one field of a form; undefined if the error is about others. `path`: such as `content.text`. */
export function fieldError(error: unknown, path: string): string | undefined {
  const fault = (error as Detailed | undefined)?.details?.find((one) => one.path === path)
  if (!fault) return undefined
  shown.add(fault)
  return fault.message.startsWith('Missing required')
    ? t('Fill in this field.')
    : inWords(fault.message)
}

/** Whether fields show the whole error. */
export function isInFields(error: unknown): boolean {
  const { details } = (error ?? {}) as Detailed
  return details?.[0] !== undefined && details.every((one) => shown.has(one))
}

/** What data belongs to: data of another workspace or mode must not stay on a page. */
export function dataKey(): string {
  return `${chosenWorkspace.value} ${choiceHeaders()['x-svc-mode']}`
}
