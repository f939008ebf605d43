import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { openApiText } from '../scripts/openapi-text.ts'

it('the committed OpenAPI document matches the contract (otherwise: npm run docs)', () => {
  const committed = new URL('../docs/reference/openapi.json', import.meta.url)
  expect(readFileSync(committed, 'utf8')).toBe(openApiText())
})
