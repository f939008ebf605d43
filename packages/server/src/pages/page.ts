import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { SvcError } from '@svc/core/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Admission, PageRate } from '../admission/admission.ts'
import { noteFailure, unknownRoute } from '../failures.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** How requests count on a route that is not an endpoint of the API and takes no credential. */
    page?: PageRate
  }
}

/** The route of a page or file. */
interface PageRoute {
  path: string
  /** How requests of the page count; default: `anonymous`. */
  rate?: PageRate | undefined
  /** The Content-Security-Policy of the page; default: `PAGE_CSP`. */
  csp?: string | undefined
  /** The document in place of the page for a client whose bucket is used up. Default: the JSON of the error. */
  refused?: ((retry_after_s: number) => { html: string; csp: string }) | undefined
  /** Selects the requests that get the page. Other requests get the 404 of an unknown route. */
  only?: ((request: FastifyRequest) => boolean) | undefined
}

/** A page, or a file that belongs to one. */
type Page = PageRoute & {
  /** The media type. Default: HTML; for a file, the type of its extension. */
  type?: string
  /** The header `Cache-Control`; default: a browser asks for changes before it uses the page again. */
  cache?: string
  /** The path of the content compressed with Brotli, for browsers that take it. */
  brotli?: string
} & ({ html: string } | { file: string } | { text: () => string | Promise<string> })

/** Allows only the page's own files: no inline script or style, no other host, no frame around it. */
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

/** Shorter content is not compressed, because compressing it saves no packet. */
const COMPRESS_FROM_BYTES = 1_400

const compress = promisify(gzip)
const require = createRequire(import.meta.url)

/** The path of a file in an installed package, or in this one (`@svc/server`). */
export function packageFile(name: string, path: string): string {
  return join(dirname(require.resolve(`${name}/package.json`)), path)
}

/**
 * Serves one page or file at one path, from memory; no other path serves it. A browser may cache it, but by default asks for
 * changes before it uses it again (ETag, 304), and runs only what the page's policy allows.
 */
export function servePage(app: FastifyInstance, admission: Admission, page: Page): void {
  let loading: Promise<Content> | null = null
  serveHandler(app, admission, page, async (request, reply) => {
    loading ??= contentOf(page).catch((error) => {
      loading = null
      throw error
    })
    return send(await loading, request, reply.header('cache-control', page.cache ?? 'no-cache'))
  })
}

/** Serves the result of `handler` at a path, with the headers of a page. It is not cached, unless the handler allows it. */
export function serveHandler(
  app: FastifyInstance,
  admission: Admission,
  { path, rate = 'anonymous', csp = PAGE_CSP, refused, only }: PageRoute,
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
      try {
        await admission.admitVisitor(rate, request, reply)
      } catch (error) {
        if (!refused || !(error instanceof SvcError) || error.status !== 429) throw error
        const { retry_after_s = 5 } = noteFailure(error, request, reply)
        const page = refused(retry_after_s)
        addPageHeaders(reply, page.csp)
        // The browser asks again by itself, without a script.
        reply.header('refresh', retry_after_s).type(HTML)
        return reply.send(page.html)
      }
      addPageHeaders(reply, csp)
    },
    handler,
  })
}

/** Adds the security headers of a page. */
export function addPageHeaders(reply: FastifyReply, csp: string): void {
  reply.header('content-security-policy', csp)
  reply.header('cross-origin-resource-policy', 'same-origin')
  // The page's URL may hold a token.
  reply.header('referrer-policy', 'no-referrer')
}

interface Content {
  type: string
  etag: string
  plain: Buffer
  brotli: Buffer | null
  gzipped: Buffer | null
}

async function contentOf(page: Page): Promise<Content> {
  const plain = await bytesOf(page)
  const type = page.type ?? ('file' in page ? TYPES[extname(page.file)] : HTML)
  if (!type) throw new Error(`${page.path} needs a media type`)
  // The tag is weak, because the plain and the compressed form share it.
  const etag = `W/"${createHash('sha256').update(plain).digest('base64url')}"`
  const isLong = plain.length >= COMPRESS_FROM_BYTES
  return {
    type,
    etag,
    plain,
    brotli: isLong && page.brotli ? await readFile(page.brotli) : null,
    gzipped: isLong && COMPRESSIBLE.test(type) ? await compress(plain) : null,
  }
}

async function bytesOf(page: Page): Promise<Buffer> {
  if ('file' in page) return readFile(page.file)
  return Buffer.from('html' in page ? page.html : await page.text())
}

/** Enough for the tags of all versions in a cache. The rest of the header is not read. */
const IF_NONE_MATCH_LENGTH = 1_000

/** Whether an `If-None-Match` header names a tag. Source: RFC 9110, section 13.1.2. */
function namesTag(header: string, etag: string): boolean {
  const tags = header.slice(0, IF_NONE_MATCH_LENGTH).split(',')
  return tags.some((tag) => tag.trim() === etag)
}

function send(content: Content, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { type, etag, plain } = content
  const { 'if-none-match': known = '', 'accept-encoding': encodings = '' } = request.headers
  reply.headers({ etag, vary: 'accept-encoding' })
  if (namesTag(known, etag)) return reply.code(304).send()
  reply.header('content-type', type)
  const encoded = encodedFor(String(encodings), content)
  if (!encoded) return reply.send(plain)
  return reply.header('content-encoding', encoded.encoding).send(encoded.bytes)
}

/** The smallest form of a content that a browser takes; null: the plain one. */
function encodedFor(accepted: string, { brotli, gzipped }: Content) {
  if (brotli && /\bbr\b/.test(accepted)) return { encoding: 'br', bytes: brotli }
  if (gzipped && /\bgzip\b/.test(accepted)) return { encoding: 'gzip', bytes: gzipped }
  return null
}
