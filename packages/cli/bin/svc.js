#!/usr/bin/env node
// Stands in the repository, so that installing links the command although nothing is built yet.
import module from 'node:module'

// Node 22.8 and later keep what they compiled.
module.enableCompileCache?.()
await import('../dist/bin.js')
