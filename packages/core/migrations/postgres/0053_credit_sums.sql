CREATE TABLE "credit_causes" (
	"workspace_id" text NOT NULL,
	"day" integer NOT NULL,
	"cause_id" text NOT NULL,
	"cause_type" text NOT NULL,
	"channel" text NOT NULL,
	"api_key_id" text NOT NULL,
	"spent" bigint NOT NULL,
	"refunded" bigint NOT NULL,
	"refunds" bigint NOT NULL,
	CONSTRAINT "credit_causes_workspace_id_day_cause_id_pk" PRIMARY KEY("workspace_id","day","cause_id")
);
--> statement-breakpoint
CREATE TABLE "credit_days" (
	"workspace_id" text NOT NULL,
	"day" integer NOT NULL,
	"kind" text NOT NULL,
	"channel" text NOT NULL,
	"api_key_id" text NOT NULL,
	"count" bigint NOT NULL,
	"amount" bigint NOT NULL,
	"held_delta" bigint NOT NULL,
	CONSTRAINT "credit_days_workspace_id_day_kind_channel_api_key_id_pk" PRIMARY KEY("workspace_id","day","kind","channel","api_key_id")
);
--> statement-breakpoint
CREATE TABLE "credit_marks" (
	"workspace_id" text PRIMARY KEY NOT NULL,
	"seq" bigint NOT NULL
);
