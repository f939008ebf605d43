import { isDeepStrictEqual } from 'node:util'
import { ERRORS, type ErrorCode, failureEnvelope } from '@svc/core/contract'

/** A parsed answer. */
export interface Answer {
  status: number
  headers: Record<string, string | undefined>
  text: string
  /** The parsed body. */
  // biome-ignore lint/suspicious/noExplicitAny: a test states its expectations of a body at once.
  body: any
}

/** The statuses of the specification, and those of the probes. */
const STATUSES = [200, 201, 400, 401, 402, 403, 404, 429, 500]
const PROBES = ['/health', '/health/live', '/health/ready']

const JSON_TYPE = 'application/json; charset=utf-8'
/** The only answers that are not JSON: exports as CSV. */
const CSV_TYPE = 'text/csv; charset=utf-8'
const CSV_PATH = /^\/api\/v1\/[\w/]+\/export\?(?:.*&)?format=csv\b/

const WHOLE_NUMBER = /^\d+$/

/** Made once, because zod compiles each new schema at its first use. */
const FAILURE = failureEnvelope.strict()

/** Throws unless the answer has the properties of every answer: sections 1 and 12 of the contract. */
export function checkEveryAnswer(method: string, path: string, answer: Answer): void {
  // A probe's answer has no envelope, and the answer to HEAD has no body.
  const isCsv = CSV_PATH.test(path) && answer.status === 200
  const isBare = isCsv || method === 'HEAD' || PROBES.includes(path.split('?', 1)[0] ?? '')
  const faults = [
    ...headerFaults(answer, isCsv ? CSV_TYPE : JSON_TYPE),
    ...(isBare ? [] : envelopeFaults(answer)),
  ]
  if (faults.length === 0) return
  throw new Error(
    `${method} ${path} answered ${answer.status} ${answer.text}: ${faults.join('; ')}`,
  )
}

function headerFaults({ status, headers }: Answer, type: string): string[] {
  const faults: string[] = []
  for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']) {
    if (!WHOLE_NUMBER.test(headers[name] ?? '')) faults.push(`${name} is ${headers[name]}`)
  }
  if (headers['content-type'] !== type) faults.push(`content-type ${headers['content-type']}`)
  if (!headers['x-request-id']) faults.push('no x-request-id')
  if (headers['x-content-type-options'] !== 'nosniff') faults.push('no nosniff')
  if (headers['cache-control'] !== 'no-store') faults.push('no no-store')
  const retryAfter = headers['retry-after']
  if (status === 429 && !/^[1-9]\d*$/.test(retryAfter ?? '')) faults.push('no retry-after')
  if (status !== 429 && retryAfter !== undefined) faults.push('retry-after')
  return faults
}

function envelopeFaults({ status, body }: Answer): string[] {
  if (!STATUSES.includes(status)) return [`status ${status}`]
  if (status < 300) {
    const names = Object.keys(body ?? {})
    return isDeepStrictEqual(names, ['success', 'data']) && body.success === true
      ? []
      : ['no envelope']
  }
  const failure = FAILURE.safeParse(body)
  if (!failure.success) return ['no failure envelope']
  const { error, message, details } = failure.data
  if (ERRORS[error as ErrorCode] !== status) return [`${error} with status ${status}`]
  const isListed = details?.every((detail) => detail.message !== '')
  if (error === 'validation_error' ? !isListed : details) return ['details']
  if (details && details[0]?.message !== message) return ['details do not begin with the message']
  return message === '' ? ['no message'] : []
}
