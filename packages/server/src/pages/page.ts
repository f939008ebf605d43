import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Admission, PageRate } from '../admission/admission.ts'
import { unknownRoute } from '../failures.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What is no endpoint of the API, for anybody to read: how its requests are counted. */
    page?: PageRate
  }
}

/** Something to read beside the API. */
export interface PageRoute {
  path: string
  /** `anonymous` unless told. */
  rate?: PageRate | undefined
  /** Its Content-Security-Policy; without one `PAGE_CSP`. */
  csp?: string | undefined
  /** Whom it is there for; for all others it is a path that nobody serves. */
  only?: ((request: FastifyRequest) => boolean) | undefined
}

/** A page, or a file that belongs to one. */
export type Page = PageRoute & {
  /** Its media type; without one, what the file's name says, and of a text HTML. */
  type?: string
} & ({ html: string } | { file: string } | { text: () => string })

/** Nothing but the page's own files: no inline script or style, no other host, no frame around it. */
export const PAGE_CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

const HTML = 'text/html; charset=utf-8'
const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': HTML,
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
}
const COMPRESSIBLE = /^text\/|^application\/json|\+xml/

/** Below this, compressing saves no packet. */
const COMPRESS_FROM_BYTES = 1_400

const compress = promisify(gzip)
const require = createRequire(import.meta.url)

/** Where a file of a package is: one that is installed, or this one (`@svc/server`). */
export function packageFile(name: string, path: string): string {
  return join(dirname(require.resolve(`${name}/package.json`)), path)
}

/**
 * Serves one page or file at one path, from memory; no other path leads to it or through it. A browser may keep it, but
 * asks whether it changed before it uses it again (ETag, 304), and runs nothing that its policy does not name.
 */
export function servePage(app: FastifyInstance, admission: Admission, page: Page): void {
  let loading: Promise<Content> | null = null
  serveReading(app, admission, page, async (request, reply) => {
    loading ??= contentOf(page).catch((error) => {
      loading = null
      throw error
    })
    return send(await loading, request, reply)
  })
}

/** Serves what is read at a path, with the headers of a page; it is kept by nobody unless the handler says so. */
export function serveReading(
  app: FastifyInstance,
  admission: Admission,
  { path, rate = 'anonymous', csp = PAGE_CSP, only }: PageRoute,
  handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
): void {
  app.route({
    method: 'GET',
    url: path,
    config: { page: rate },
    async onRequest(request, reply) {
      if (only && !only(request)) {
        await admission.admitVisitor('anonymous', request, reply)
        throw unknownRoute()
      }
      await admission.admitVisitor(rate, request, reply)
      addPageHeaders(reply, csp)
    },
    handler,
  })
}

/** What a browser is told about whatever it shows. */
export function addPageHeaders(reply: FastifyReply, csp: string): void {
  reply.header('content-security-policy', csp)
  reply.header('cross-origin-resource-policy', 'same-origin')
  // An address may hold a token.
  reply.header('referrer-policy', 'no-referrer')
}

interface Content {
  type: string
  etag: string
  plain: Buffer
  gzipped: Buffer | null
}

async function contentOf(page: Page): Promise<Content> {
  const plain = await bytesOf(page)
  const type = page.type ?? ('file' in page ? TYPES[extname(page.file)] : HTML)
  if (!type) throw new Error(`${page.path} needs a media type`)
  // Weak, because it names the plain form and the compressed one alike.
  const etag = `W/"${createHash('sha256').update(plain).digest('base64url')}"`
  const isLong = plain.length >= COMPRESS_FROM_BYTES
  return {
    type,
    etag,
    plain,
    gzipped: isLong && COMPRESSIBLE.test(type) ? await compress(plain) : null,
  }
}

function bytesOf(page: Page): Buffer | Promise<Buffer> {
  if ('file' in page) return readFile(page.file)
  return Buffer.from('html' in page ? page.html : page.text())
}

/** Longer than the tags of all versions that a cache can hold: the rest of such a header is not read. */
const IF_NONE_MATCH_LENGTH = 1_000

/** Whether an `If-None-Match` header names a tag. Source: RFC 9110, section 13.1.2. */
function namesTag(header: string, etag: string): boolean {
  const tags = header.slice(0, IF_NONE_MATCH_LENGTH).split(',')
  return tags.some((tag) => tag.trim() === etag)
}

function send(content: Content, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { type, etag, plain, gzipped } = content
  const { 'if-none-match': known = '', 'accept-encoding': encodings = '' } = request.headers
  reply.headers({ 'cache-control': 'no-cache', etag, vary: 'accept-encoding' })
  if (namesTag(known, etag)) return reply.code(304).send()
  reply.header('content-type', type)
  if (!gzipped || !/\bgzip\b/.test(String(encodings))) return reply.send(plain)
  return reply.header('content-encoding', 'gzip').send(gzipped)
}
