import type { FastifyInstance, InjectOptions } from 'fastify'
import { type Answer, checkEveryAnswer } from './every-answer.ts'

export interface CallOptions {
  /** An API key. */
  key?: string | undefined
  /** A JWT. */
  token?: string | undefined
  /** Sent as JSON. */
  json?: unknown
  /** Sent unchanged. */
  raw?: string | Buffer | undefined
  headers?: Record<string, string> | undefined
  /** The client's address. */
  from?: string | undefined
}

export type Call = (method: string, path: string, options?: CallOptions) => Promise<Answer>

/** Calls an app without a socket, and checks each answer for the properties of every answer. */
export function callerOf(app: FastifyInstance): { call: Call; inFlight: () => number } {
  let count = 0
  return {
    inFlight: () => count,
    async call(method, path, options = {}) {
      count += 1
      try {
        const { statusCode, headers, body } = await app.inject(injectionOf(method, path, options))
        const answer: Answer = {
          status: statusCode,
          headers: Object.fromEntries(
            Object.entries(headers).map(([name, value]) => [name, value?.toString()]),
          ),
          text: body,
          body: isJson(headers['content-type']) && body !== '' ? JSON.parse(body) : undefined,
        }
        checkEveryAnswer(method, path, answer)
        return answer
      } finally {
        count -= 1
      }
    },
  }
}

function isJson(type: string | string[] | number | undefined): boolean {
  return `${type}`.startsWith('application/json')
}

function injectionOf(method: string, path: string, options: CallOptions): InjectOptions {
  const { key, token, json, raw, headers, from } = options
  const payload = json === undefined ? raw : JSON.stringify(json)
  return {
    method: method as 'GET',
    url: path,
    headers: {
      ...(key !== undefined && { 'x-api-key': key }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(payload !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(payload !== undefined && { payload }),
    ...(from !== undefined && { remoteAddress: from }),
  }
}

/** The answer, if it has the status; else an error with the answer. */
export function expectStatus(status: number, answer: Answer): Answer {
  if (answer.status === status) return answer
  throw new Error(`expected ${status}, got ${answer.status}: ${answer.text}`)
}
