import { defineConfig } from 'tsup'
import { packageBuild } from '../../scripts/tsup.ts'

// What bin/svc.js starts.
export default defineConfig(packageBuild({ entry: { bin: './src/bin.ts' } }))
