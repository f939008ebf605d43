import { cpSync, statSync } from 'node:fs'
import { defineConfig } from 'tsup'
import { declarations, packageBuild } from '../../scripts/tsup.ts'

// A receiver's project must not install a database to test its webhooks, so what the testkit needs goes inside it:
// the contract, straight from its sources, and zod, which the contract's types are made of.
const TYPES = {
  '@svc/core/contract': ['../core/src/contract/index.ts'],
  '@svc/core/webhooks': ['../core/src/contract/signature.ts'],
  zod: ['../../.bootstrap/types/zod/index.d.ts'],
}

export default defineConfig(({ dts }) => {
  if (dts !== false) copyTypesOfZod()
  return packageBuild({
    noExternal: Object.keys(TYPES),
    esbuildOptions: (options) => {
      options.conditions = ['source']
    },
    dts: declarations(TYPES),
  })
})

/** Types that lie in a `node_modules` folder are never copied into declarations, so they are taken from elsewhere. */
function copyTypesOfZod(): void {
  cpSync('../core/node_modules/zod', '../../.bootstrap/types/zod', {
    recursive: true,
    dereference: true,
    filter: (path) => path.endsWith('.d.ts') || statSync(path).isDirectory(),
  })
}
