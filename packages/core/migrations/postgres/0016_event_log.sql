CREATE TABLE "event_log" (
	"position" bigint PRIMARY KEY NOT NULL,
	"workspace_id" text NOT NULL,
	"event_id" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "event_log_state" (
	"name" text PRIMARY KEY NOT NULL,
	"is_kept" boolean NOT NULL,
	"position" bigint NOT NULL,
	"since" bigint NOT NULL
);
