import { defineConfig } from 'tsup'
import { packageBuild } from '../../scripts/tsup.ts'

const bundled = [/^@svc\/core/, 'zod']

export default defineConfig(
  // A receiver's project must not install a database to test its webhooks: what the testkit needs of core goes inside.
  packageBuild({
    noExternal: bundled,
    dts: { resolve: bundled, compilerOptions: { ignoreDeprecations: '6.0' } },
  }),
)
