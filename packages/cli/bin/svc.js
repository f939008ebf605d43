#!/usr/bin/env node
// Stands in the repository, so that installing links the command although nothing is built yet.
import module from 'node:module'
import { setFlagsFromString } from 'node:v8'

// Node 22.8 and later keep what they compiled.
module.enableCompileCache?.()

// Loading modules fills the young generation, which V8 then doubles up to 48 MB and keeps while the process is idle. Without
// this growth, `svc dev` has 113 MB in place of 143 MB, at the same CPU. Later growth follows the load.
const START_MS = 5_000
setFlagsFromString('--semi-space-growth-factor=1')
setTimeout(() => setFlagsFromString('--semi-space-growth-factor=2'), START_MS).unref()

await import('../dist/bin.js')
