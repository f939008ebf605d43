import type { Style, StyleName } from '../show/style.ts'
import { printable } from '../show/text.ts'

/** An answered request. */
export interface AnsweredRequest {
  method: string
  /** The path and the query. */
  url: string
  /** The pattern of the route, such as `/api/v1/messages/:id`; undefined for an unknown path. */
  route: string | undefined
  status: number
  duration_ms: number
}

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i
const PATH_MAX = 120

/** One line about a request; null for the files and polls of the pages of `svc dev`. */
export function requestLine(request: AnsweredRequest, at: Date, style: Style): string | null {
  const { method, status, duration_ms } = request
  const path = pathOf(request)
  if (status < 400 && /^\/(?:dev|console\/assets)\//.test(path)) return null
  const colour: StyleName = status >= 500 ? 'red' : status >= 400 ? 'yellow' : 'green'
  const time = style('dim', at.toTimeString().slice(0, 8))
  const took = style('dim', `${Math.round(duration_ms)} ms`)
  return `${time} ${method} ${printable(path)} ${style(colour, String(status))} ${took}`
}

/** The path without its query, which may have a token; a parameter of the path that is no id is not shown either. */
function pathOf({ url, route }: AnsweredRequest): string {
  const parts = (url.split('?', 1)[0] ?? '').split('/')
  const names = route?.split('/') ?? []
  const shown = parts.map((part, i) => {
    const name = names[i] ?? ''
    return name.startsWith(':') && !UUID.test(part) ? name : part
  })
  return shown.join('/').slice(0, PATH_MAX)
}
