export { default as domains } from './domains/domains.tsx'
export { default as keys } from './keys/keys.tsx'
export { default as webhooks } from './webhooks/webhooks.tsx'
