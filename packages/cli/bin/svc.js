#!/usr/bin/env node
// Stands in the repository, so that installing links the command although nothing is built yet.
import '../dist/bin.js'
