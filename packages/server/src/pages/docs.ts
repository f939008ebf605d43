import { readFileSync } from 'node:fs'
import { type Api, openapi } from '@svc/core/contract'
import type { FastifyInstance } from 'fastify'
import type { Admission } from '../admission/admission.ts'
import { PAGE_CSP, packageFile, servePage } from './page.ts'

/** The library sets style attributes and uses data URLs for its icons. Scripts come only from its file and our file. */
const DOCS_CSP = PAGE_CSP.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")

const LIBRARY_FILES = ['swagger-ui.css', 'swagger-ui-bundle.js']
const OWN_FILES = ['docs.css', 'docs.js']

/** Serves the OpenAPI document at `/openapi.json`, and at `/docs` a reference that is made from the document. */
export function serveDocs(
  app: FastifyInstance,
  admission: Admission,
  api: Api,
  { public_url }: { public_url: () => string },
): void {
  servePage(app, admission, {
    path: '/openapi.json',
    type: 'application/json; charset=utf-8',
    text: () => documentText(api, public_url()),
  })
  servePage(app, admission, {
    path: '/docs',
    csp: DOCS_CSP,
    file: packageFile('@svc/server', 'docs/index.html'),
  })
  for (const name of LIBRARY_FILES) {
    servePage(app, admission, { path: `/docs/${name}`, file: packageFile('swagger-ui-dist', name) })
  }
  for (const name of OWN_FILES) {
    const file = packageFile('@svc/server', `docs/${name}`)
    servePage(app, admission, { path: `/docs/${name}`, file })
  }
}

function documentText(api: Api, url: string): string {
  return JSON.stringify(openapi(api, { version: versionOf('@svc/server'), url }))
}

/** The version of an installed package. */
export function versionOf(name: string): string {
  const manifest = JSON.parse(readFileSync(packageFile(name, 'package.json'), 'utf8'))
  return (manifest as { version: string }).version
}
