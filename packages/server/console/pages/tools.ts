export { default as firstSteps } from './tools/first-steps.tsx'
export { default as mails } from './tools/mails.tsx'
export { default as phone } from './tools/phone.tsx'
export { default as requests } from './tools/requests.tsx'
