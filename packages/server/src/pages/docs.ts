import { readFileSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Api, type OpenApiDocument, openapi } from '@svc/core/contract'
import type { FastifyInstance } from 'fastify'
import type { Admission } from '../admission/admission.ts'
import { isLocal } from '../dev/local-only.ts'
import { packageFile, serveHandler, servePage } from './page.ts'
import { referenceHtml } from './reference/reference.ts'

const FILES = ['docs.css', 'docs.js']

/** What the reference needs besides the API. */
export interface DocsOptions {
  public_url: () => string
  /** The name of the service. */
  brand: string
  /** The API key of the demo, which the page offers to browsers on this machine. It is for `svc dev`. */
  demoKey: () => string | null
}

/** Serves the OpenAPI document at `/openapi.json`, and at `/docs` a reference that is made from the document. */
export function serveDocs(
  app: FastifyInstance,
  admission: Admission,
  api: Api,
  { public_url, brand, demoKey }: DocsOptions,
): void {
  let made: OpenApiDocument | null = null
  const document = () => {
    made ??= openapi(api, { version: versionOf('@svc/server'), url: public_url() })
    return made
  }
  servePage(app, admission, {
    path: '/openapi.json',
    type: 'application/json; charset=utf-8',
    text: () => JSON.stringify(document()),
  })
  servePage(app, admission, {
    path: '/docs',
    async text() {
      const known = document()
      // Other requests are served between the two halves of the work.
      await nextTurn()
      return referenceHtml(known, { brand })
    },
  })
  for (const name of FILES) {
    const file = packageFile('@svc/server', `docs/${name}`)
    servePage(app, admission, { path: `/docs/${name}`, file })
  }
  serveHandler(app, admission, { path: '/docs/key.json' }, async (request, reply) => {
    reply.type('application/json; charset=utf-8')
    return JSON.stringify({ api_key: isLocal(request) ? demoKey() : null })
  })
}

/** The version of an installed package. */
export function versionOf(name: string): string {
  const manifest = JSON.parse(readFileSync(packageFile(name, 'package.json'), 'utf8'))
  return (manifest as { version: string }).version
}
