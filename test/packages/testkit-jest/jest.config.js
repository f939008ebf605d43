export default { setupFilesAfterEnv: ['@svc/testkit/jest'], transform: {} }
