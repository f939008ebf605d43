import type { Call } from '../call.ts'
import { checkEveryAnswer } from '../every-answer.ts'

/** Calls a server over its socket, and checks each answer for the properties of every answer. */
export function httpCaller(url: string): Call {
  return async (method, path, { key, token, json, raw, headers } = {}) => {
    const body = json === undefined ? raw : JSON.stringify(json)
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(key !== undefined && { 'x-api-key': key }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: body as string }),
    })
    const text = await response.text()
    const answer = {
      status: response.status,
      headers: Object.fromEntries(response.headers) as Record<string, string | undefined>,
      text,
      body: text === '' ? undefined : JSON.parse(text),
    }
    checkEveryAnswer(method, path, answer)
    return answer
  }
}
