import { defineConfig } from 'tsup'
import { packageBuild } from '../../scripts/tsup.ts'

export default defineConfig(
  packageBuild({
    format: ['esm', 'cjs'],
    platform: 'neutral',
    target: 'es2022',
    // One file in each format; a chunk would be one file more to find.
    splitting: false,
  }),
)
