import { readFileSync } from 'node:fs'
import { api, openapi } from '@svc/core/contract'

/** The committed OpenAPI document. */
export function openApiText(): string {
  const manifest = readFileSync(new URL('../packages/server/package.json', import.meta.url), 'utf8')
  const { version } = JSON.parse(manifest) as { version: string }
  return `${JSON.stringify(openapi(api, { version }), null, 2)}\n`
}
