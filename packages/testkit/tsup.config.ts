import { cpSync, statSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { defineConfig, type Options } from 'tsup'
import { declarationOf, declarations, packageBuild } from '../../scripts/tsup.ts'

// A receiver's project must not install a database to test its webhooks, so what the testkit needs goes inside it: the
// signatures, straight from their sources, what the contract says of events and limits, and the types of both.
const TYPES = {
  '@svc/client': declarationOf('packages/client/src/index.ts'),
  '@svc/core/contract': declarationOf('packages/core/src/contract/index.ts'),
  '@svc/core/webhooks': declarationOf('packages/core/src/contract/signing/signature.ts'),
  zod: '../../.bootstrap/types/zod/index.d.ts',
}

export default defineConfig(({ dts }) => {
  if (dts !== false) copyTypesOfZod()
  return packageBuild({
    // Jest requires the modules of a CommonJS program itself, and cannot require an ES module before Node 24.
    format: ['esm', 'cjs'],
    noExternal: Object.keys(TYPES),
    esbuildPlugins: [contractAsPlainData()],
    esbuildOptions: (options) => {
      options.conditions = ['source']
    },
    dts: declarations(TYPES),
    onSuccess: () => copyFile('../core/node_modules/zod/LICENSE', 'dist/zod.LICENSE.txt'),
  })
})

type Plugin = NonNullable<Options['esbuildPlugins']>[number]

/**
 * Puts what the contract says, as plain values, in place of the contract, whose schemas would bring ten times as much
 * along. Using anything of it that is not plain is an error of the build.
 */
function contractAsPlainData(): Plugin {
  return {
    name: 'contract-as-plain-data',
    setup({ esbuild, onResolve, onLoad }) {
      onResolve({ filter: /^@svc\/core\/contract$/ }, () => ({
        path: 'contract',
        namespace: 'plain',
      }))
      onLoad({ filter: /.*/, namespace: 'plain' }, async () => {
        const { outputFiles } = await esbuild.build({
          entryPoints: ['../core/src/contract/index.ts'],
          bundle: true,
          write: false,
          format: 'esm',
          platform: 'node',
          conditions: ['source'],
        })
        const code = Buffer.from(outputFiles[0]?.contents ?? []).toString('base64')
        const plain = plainlyOf(await import(`data:text/javascript;base64,${code}`))
        // Imports nothing, so it comes as it is.
        const contents = `${plain}export * from './fields/retry-after.ts'\n`
        return { contents, resolveDir: resolve('../core/src/contract') }
      })
    },
  }
}

interface Contract {
  readonly EVENT_KINDS: readonly string[]
  readonly EVENTS: Readonly<Record<string, { description: string; example: unknown }>>
  readonly LIMITS: object
  readonly WEBHOOK_RETRY_DELAYS_S: readonly number[]
  readonly WEBHOOK_RETRY_JITTER: number
}

/** A module of the contract's data. */
function plainlyOf(contract: Contract): string {
  const { EVENT_KINDS, LIMITS, WEBHOOK_RETRY_DELAYS_S, WEBHOOK_RETRY_JITTER } = contract
  const events = Object.entries(contract.EVENTS).map(([kind, { description, example }]) => [
    kind,
    { description, example },
  ])
  const plain = { EVENT_KINDS, LIMITS, WEBHOOK_RETRY_DELAYS_S, WEBHOOK_RETRY_JITTER }
  return Object.entries({ ...plain, EVENTS: Object.fromEntries(events) })
    .map(([name, value]) => `export const ${name} = ${JSON.stringify(value)}\n`)
    .join('')
}

/** Types that lie in a `node_modules` folder are never copied into declarations, so they are taken from elsewhere. */
function copyTypesOfZod(): void {
  cpSync('../core/node_modules/zod', '../../.bootstrap/types/zod', {
    recursive: true,
    dereference: true,
    filter: (path) => path.endsWith('.d.ts') || statSync(path).isDirectory(),
  })
}
