/** Writes docs/reference/openapi.json from the API's table: `npm run docs`. A test compares the two. */
import { writeFileSync } from 'node:fs'
import { openApiText } from './openapi-text.ts'

writeFileSync(new URL('../docs/reference/openapi.json', import.meta.url), openApiText())
