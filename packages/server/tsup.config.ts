import { defineConfig } from 'tsup'
import { packageBuild } from '../../scripts/tsup.ts'

export default defineConfig(packageBuild())
