import { defineConfig } from 'tsup'
import { packageBuild } from '../../scripts/tsup.ts'

// What bin/svc.js starts.
export default defineConfig(
  packageBuild({
    entry: { bin: './src/bin.ts' },
    // It exports nothing.
    dts: false,
    // On the way of every command, and nothing but a table: one package less to find.
    noExternal: ['@svc/server/settings'],
    esbuildOptions: (options) => {
      options.conditions = ['source']
    },
  }),
)
