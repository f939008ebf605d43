/** Writes packages/client/src/generated from the API's table: `npm run docs`. A test compares the two. */
import { writeFileSync } from 'node:fs'
import { clientTexts } from './client/texts.ts'

const folder = new URL('../packages/client/src/generated/', import.meta.url)
for (const [name, text] of Object.entries(clientTexts())) writeFileSync(new URL(name, folder), text)
