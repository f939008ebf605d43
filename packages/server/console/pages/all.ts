// One file: pages share parts and words, so together they are several kB smaller than as files of their own.
export * from './audience.ts'
export { default as domains } from './domains/domains.tsx'
export { default as keys } from './keys/keys.tsx'
export * from './messages.ts'
export * from './operator/operator.ts'
export * from './tools/tools.ts'
export { default as webhooks } from './webhooks/webhooks.tsx'
export * from './workspace.ts'
