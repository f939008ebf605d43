import { readFileSync } from 'node:fs'

/** The page that names the keys and statements without a workspace. */
export const LIMITS = readFileSync(
  new URL('../../../../docs/internals/scaling.md', import.meta.url),
  'utf8',
)
