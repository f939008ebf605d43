import { readFileSync } from 'node:fs'
import { api, openapi } from '@svc/core/contract'

/** The committed OpenAPI document: of a service that `npm start` started. */
export function openApiText(): string {
  const manifest = readFileSync(new URL('../packages/server/package.json', import.meta.url), 'utf8')
  const { version } = JSON.parse(manifest) as { version: string }
  return `${JSON.stringify(openapi(api, { version, url: 'http://127.0.0.1:3000' }), null, 2)}\n`
}
