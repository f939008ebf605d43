CREATE TABLE "test_usage" (
	"workspace_id" text PRIMARY KEY NOT NULL,
	"day" integer NOT NULL,
	"messages" bigint NOT NULL,
	"bytes" bigint NOT NULL
);
--> statement-breakpoint
CREATE INDEX "api_keys_active" ON "api_keys" USING btree ("workspace_id") WHERE is_active;