import { readFileSync } from 'node:fs'
import { type Api, type OpenApiDocument, openapiSteps } from '@svc/core/contract'
import { stepsInTurns } from '@svc/core/operate'
import type { FastifyInstance } from 'fastify'
import type { Admission } from '../admission/admission.ts'
import { isLocal } from '../dev/local-only.ts'
import { packageFile, serveHandler, servePage } from './page.ts'
import { referenceHtml } from './reference/reference.ts'

const FILES = ['docs.css', 'docs.js']

/** What the reference needs besides the API. */
interface DocsOptions {
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
  let made: Promise<OpenApiDocument> | null = null
  const document = () => {
    made ??= stepsInTurns(
      openapiSteps(api, { version: versionOf('@svc/server'), url: public_url() }),
    )
    return made
  }
  servePage(app, admission, {
    path: '/openapi.json',
    type: 'application/json; charset=utf-8',
    text: async () => JSON.stringify(await document()),
  })
  servePage(app, admission, {
    path: '/docs',
    text: async () => referenceHtml(await document(), { brand }),
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
