import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Tools } from './tools.ts'

/** The strictest settings that the generated code itself compiles with. */
const STRICT = {
  strict: true,
  noUncheckedIndexedAccess: true,
  noImplicitOverride: true,
  skipLibCheck: false,
  target: 'es2022',
  module: 'nodenext',
  types: ['node'],
  outDir: 'built',
}

const HEY_API = `export default {
  input: 'openapi.json',
  output: { path: 'hey-api/generated', module: { extension: '.js' } },
  plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'],
}
`

/** The two linters find no error; warnings are about an address and a licence, which the project does not have. */
export async function lint({ folder, run }: Tools): Promise<void> {
  writeFileSync(join(folder, '.spectral.json'), '{"extends":["spectral:oas"]}')
  await run(['npx', 'redocly', 'lint', 'openapi.json'])
  await run(['npx', 'spectral', 'lint', '--fail-severity', 'error', 'openapi.json'])
}

/** Clients that are generated from the document compile, and send a message to the service. */
export async function generate(
  tools: Tools,
  name: 'hey-api' | 'openapi-fetch',
  service: { url: string; key: string },
): Promise<void> {
  const { folder, run } = tools
  const own = join(folder, name)
  mkdirSync(join(own, 'generated'), { recursive: true })
  if (name === 'hey-api') {
    writeFileSync(join(folder, 'openapi-ts.config.mjs'), HEY_API)
    await run(['npx', 'openapi-ts', '--no-log-file'])
  } else {
    await run(['npx', 'openapi-typescript', 'openapi.json', '-o', `${name}/generated/schema.d.ts`])
  }
  const consumer = new URL(`./consumers/${name}.txt`, import.meta.url)
  copyFileSync(fileURLToPath(consumer), join(own, 'program.ts'))
  const settings = { compilerOptions: STRICT, files: ['program.ts'] }
  writeFileSync(join(own, 'tsconfig.json'), JSON.stringify(settings))
  await run(['npx', 'tsc', '-p', name])
  await run(['node', `${name}/built/program.js`], {
    SVC_URL: service.url,
    SVC_API_KEY: service.key,
  })
}
